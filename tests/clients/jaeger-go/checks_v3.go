package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"sort"
	"strings"
	"time"

	"github.com/gogo/protobuf/jsonpb"
	"github.com/gogo/protobuf/proto"
	"github.com/jaegertracing/jaeger/proto-gen/api_v3"
	"go.opentelemetry.io/collector/pdata/ptrace"
)

// jsonpb, with which Jaeger writes these messages, refuses fields it does not know.
func message(got answer, into proto.Message) error {
	if got.status != http.StatusOK {
		return fmt.Errorf("status %d", got.status)
	}
	return jsonpb.UnmarshalString(string(got.body), into)
}

func wantV3Services(s *sample) func(answer) error {
	return func(got answer) error {
		var response api_v3.GetServicesResponse
		if err := message(got, &response); err != nil {
			return err
		}
		return contains(response.Services, s.web, s.cart)
	}
}

func wantV3Operations(operations ...string) func(answer) error {
	return func(got answer) error {
		var response api_v3.GetOperationsResponse
		if err := message(got, &response); err != nil {
			return err
		}
		found := []string{}
		for _, operation := range response.Operations {
			found = append(found, operation.Name+"/"+operation.SpanKind)
		}
		return same("operations", found, operations)
	}
}

// Jaeger's v3 wraps OTLP's TracesData, which it holds as the collector's ptrace.Traces.
func v3traces(got answer) (ptrace.Traces, error) {
	if got.status != http.StatusOK {
		return ptrace.Traces{}, fmt.Errorf("status %d", got.status)
	}
	var wrapper struct {
		Result json.RawMessage `json:"result"`
	}
	if err := strict(got.body, &wrapper); err != nil {
		return ptrace.Traces{}, err
	}
	var unmarshaler ptrace.JSONUnmarshaler
	return unmarshaler.UnmarshalTraces(wrapper.Result)
}

func forEachSpan(traces ptrace.Traces, visit func(ptrace.ResourceSpans, ptrace.ScopeSpans, ptrace.Span)) {
	for i := 0; i < traces.ResourceSpans().Len(); i++ {
		resource := traces.ResourceSpans().At(i)
		for j := 0; j < resource.ScopeSpans().Len(); j++ {
			scope := resource.ScopeSpans().At(j)
			for k := 0; k < scope.Spans().Len(); k++ {
				visit(resource, scope, scope.Spans().At(k))
			}
		}
	}
}

func wantV3Traces(ids ...string) func(answer) error {
	return func(got answer) error {
		traces, err := v3traces(got)
		if err != nil {
			return err
		}
		// Grafana takes each group for one trace: no group may hold spans of two.
		seen := map[string]bool{}
		for i := 0; i < traces.ResourceSpans().Len(); i++ {
			group := map[string]bool{}
			one := ptrace.NewTraces()
			traces.ResourceSpans().At(i).CopyTo(one.ResourceSpans().AppendEmpty())
			forEachSpan(one, func(_ ptrace.ResourceSpans, _ ptrace.ScopeSpans, span ptrace.Span) {
				group[span.TraceID().String()] = true
				seen[span.TraceID().String()] = true
			})
			if len(group) != 1 {
				return fmt.Errorf("a group holds spans of %d traces", len(group))
			}
		}
		found := []string{}
		for id := range seen {
			found = append(found, id)
		}
		sort.Strings(found)
		want := append([]string{}, ids...)
		sort.Strings(want)
		return same("traces", found, want)
	}
}

// What the server gives back is, span by span, what was sent.
func wantV3Trace(s *sample) func(answer) error {
	describe := func(resource ptrace.ResourceSpans, scope ptrace.ScopeSpans, span ptrace.Span) string {
		var out strings.Builder
		fmt.Fprintf(&out, "%v %s/%s parent %s %q kind %s %d–%d status %s %q %v scope %s %s;",
			resource.Resource().Attributes().AsRaw(), span.TraceID().String(), span.SpanID().String(),
			span.ParentSpanID().String(), span.Name(), kindName(span.Kind()), span.StartTimestamp(), span.EndTimestamp(),
			span.Status().Code(), span.Status().Message(), span.Attributes().AsRaw(), scope.Scope().Name(), scope.Scope().Version())
		for i := 0; i < span.Events().Len(); i++ {
			event := span.Events().At(i)
			fmt.Fprintf(&out, " event %s %s %v;", event.Name(), event.Timestamp().AsTime().Format(time.RFC3339Nano), event.Attributes().AsRaw())
		}
		for i := 0; i < span.Links().Len(); i++ {
			link := span.Links().At(i)
			fmt.Fprintf(&out, " link %s/%s;", link.TraceID().String(), link.SpanID().String())
		}
		return out.String()
	}
	spansOf := func(traces ptrace.Traces) []string {
		out := []string{}
		forEachSpan(traces, func(resource ptrace.ResourceSpans, scope ptrace.ScopeSpans, span ptrace.Span) {
			if span.TraceID() == s.first {
				out = append(out, describe(resource, scope, span))
			}
		})
		sort.Strings(out)
		return out
	}
	return func(got answer) error {
		traces, err := v3traces(got)
		if err != nil {
			return err
		}
		return all(same("spans", spansOf(traces), spansOf(s.traces())), same("number", traces.SpanCount(), 4))
	}
}

func wantV3Error(code int) func(answer) error {
	return func(got answer) error {
		// GRPCGatewayError of Jaeger's api_v3.
		var response struct {
			Error struct {
				GrpcCode   int    `json:"grpcCode"`
				HttpCode   int    `json:"httpCode"`
				Message    string `json:"message"`
				HttpStatus string `json:"httpStatus"`
			} `json:"error"`
		}
		if err := strict(got.body, &response); err != nil {
			return err
		}
		return all(same("status", got.status, code), same("code", response.Error.HttpCode, code),
			same("a message", response.Error.Message != "", true))
	}
}
