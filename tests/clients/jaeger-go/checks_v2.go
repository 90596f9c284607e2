package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"reflect"
	"sort"
	"strings"
	"time"

	ui "github.com/jaegertracing/jaeger/model/json"
)

type answer struct {
	status      int
	contentType string
	body        []byte
}

func get(address string) (answer, error) {
	response, err := http.Get(address)
	if err != nil {
		return answer{}, err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	return answer{response.StatusCode, response.Header.Get("Content-Type"), body}, err
}

// The envelope of Jaeger's answers (structuredResponse of cmd/query/app/http_handler.go, which is not exported).
type envelope struct {
	Data   json.RawMessage `json:"data"`
	Total  int             `json:"total"`
	Limit  int             `json:"limit"`
	Offset int             `json:"offset"`
	Errors []struct {
		Code    int        `json:"code,omitempty"`
		Msg     string     `json:"msg"`
		TraceID ui.TraceID `json:"traceID,omitempty"`
	} `json:"errors"`
}

// A field that Jaeger's types do not have is an error.
func strict(text []byte, into any) error {
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	decoder.UseNumber()
	if err := decoder.Decode(into); err != nil {
		return err
	}
	if decoder.More() {
		return fmt.Errorf("more than one JSON value")
	}
	return nil
}

func data(got answer, into any) error {
	if got.status != http.StatusOK || !strings.HasPrefix(got.contentType, "application/json") {
		return fmt.Errorf("status %d, content type %q", got.status, got.contentType)
	}
	var e envelope
	if err := strict(got.body, &e); err != nil {
		return err
	}
	if e.Errors != nil {
		return fmt.Errorf("errors: %v", e.Errors)
	}
	return strict(e.Data, into)
}

func same(what string, got, want any) error {
	if !reflect.DeepEqual(got, want) {
		return fmt.Errorf("%s: got %v, want %v", what, got, want)
	}
	return nil
}

// The first error, if any.
func all(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

func contains(list []string, wanted ...string) error {
	for _, w := range wanted {
		found := false
		for _, entry := range list {
			found = found || entry == w
		}
		if !found {
			return fmt.Errorf("%q is not among %q", w, list)
		}
	}
	return nil
}

func wantServices(s *sample) func(answer) error {
	return func(got answer) error {
		var services []string
		if err := data(got, &services); err != nil {
			return err
		}
		return all(contains(services, s.web, s.cart), same("sorted", sort.StringsAreSorted(services), true))
	}
}

func wantOperations(names ...string) func(answer) error {
	return func(got answer) error {
		var operations []string
		if err := data(got, &operations); err != nil {
			return err
		}
		return same("operations", operations, names)
	}
}

func wantTraces(ids ...string) func(answer) error {
	return func(got answer) error {
		var traces []ui.Trace
		if err := data(got, &traces); err != nil {
			return err
		}
		found := []string{}
		for _, trace := range traces {
			found = append(found, string(trace.TraceID))
			for _, span := range trace.Spans {
				if span.TraceID != trace.TraceID {
					return fmt.Errorf("a span of %s stands in %s", span.TraceID, trace.TraceID)
				}
				if _, known := trace.Processes[span.ProcessID]; !known {
					return fmt.Errorf("process %s of span %s is not there", span.ProcessID, span.SpanID)
				}
			}
		}
		return same("traces, newest first", found, append([]string{}, ids...))
	}
}

func wantError(code int, text string) func(answer) error {
	return func(got answer) error {
		var e envelope
		if err := strict(got.body, &e); err != nil {
			return err
		}
		if len(e.Errors) != 1 {
			return fmt.Errorf("%d errors", len(e.Errors))
		}
		return all(same("status", got.status, code), same("code", e.Errors[0].Code, code),
			same("data", string(e.Data), "null"),
			same("message holds "+text, strings.Contains(e.Errors[0].Msg, text), true))
	}
}

func wantDependency(parent, child string, calls uint64) func(answer) error {
	return func(got answer) error {
		var links []ui.DependencyLink
		if err := data(got, &links); err != nil {
			return err
		}
		for _, link := range links {
			if link.Parent == parent && link.Child == child {
				return same("calls", link.CallCount, calls)
			}
		}
		return fmt.Errorf("no link %s → %s among %v", parent, child, links)
	}
}

func wantNoDependencies(got answer) error {
	var links []ui.DependencyLink
	return all(data(got, &links), same("links", len(links), 0))
}

func tagsOf(list []ui.KeyValue) map[string]string {
	out := map[string]string{}
	for _, tag := range list {
		key := tag.Key
		if _, twice := out[key]; twice {
			key += " (twice)"
		}
		out[key] = fmt.Sprintf("%s %v", tag.Type, tag.Value)
	}
	return out
}

func wantFirstTrace(s *sample) func(answer) error {
	return func(got answer) error {
		var traces []ui.Trace
		if err := data(got, &traces); err != nil {
			return err
		}
		if len(traces) != 1 || len(traces[0].Spans) != 4 {
			return fmt.Errorf("want one trace of four spans")
		}
		trace := traces[0]
		id := ui.TraceID(s.first.String())
		spans := map[string]ui.Span{}
		for _, span := range trace.Spans {
			spans[span.OperationName] = span
		}
		root, call, serve, work := spans["GET /cart"], spans["call cart"], spans["GET cart"], spans["compute"]
		micros := func(offset time.Duration) uint64 { return uint64(s.start.Add(offset).UnixMicro()) }
		childOf := func(parent string) ui.Reference {
			return ui.Reference{RefType: ui.ChildOf, TraceID: id, SpanID: ui.SpanID(parent)}
		}
		const ms = time.Millisecond
		return all(
			same("trace id", trace.TraceID, id),
			same("processes", len(trace.Processes), 2),
			same("root's service", trace.Processes[root.ProcessID].ServiceName, s.web),
			same("serve's service", trace.Processes[serve.ProcessID].ServiceName, s.cart),
			same("process tags", tagsOf(trace.Processes[serve.ProcessID].Tags), map[string]string{
				"host.name": "string host-of-" + s.cart, "process.pid": "int64 4711"}),
			same("root's references", root.References, []ui.Reference{}),
			same("call's references", call.References, []ui.Reference{childOf(s.root.String())}),
			same("work's references", work.References, []ui.Reference{childOf(s.serve.String())}),
			same("serve's references", serve.References, []ui.Reference{childOf(s.call.String()),
				{RefType: ui.FollowsFrom, TraceID: ui.TraceID(s.second.String()), SpanID: ui.SpanID(s.root.String())}}),
			same("span ids", []ui.SpanID{root.SpanID, work.SpanID},
				[]ui.SpanID{ui.SpanID(s.root.String()), ui.SpanID(s.work.String())}),
			same("starts", []uint64{root.StartTime, call.StartTime, serve.StartTime, work.StartTime},
				[]uint64{micros(0), micros(10 * ms), micros(20 * ms), micros(30 * ms)}),
			same("durations", []uint64{root.Duration, call.Duration, serve.Duration, work.Duration},
				[]uint64{100000, 80000, 60000, 10500}),
			same("warnings", len(root.Warnings)+len(serve.Warnings), 0),
			same("serve's tags", tagsOf(serve.Tags), map[string]string{
				"user": "string u 7 \"ü\"", "items": "int64 -3", "huge": "int64 9007199254740993", "ratio": "float64 0.25",
				"cached": "bool false", "raw": "binary AP8B", "list": "string [\"a\",2]", "span.kind": "string server",
				"error": "bool true", "otel.status_code": "string ERROR", "otel.status_description": "string no cart",
				"otel.scope.name": "string jaeger-go", "otel.scope.version": "string 1.0"}),
			same("work's tags", tagsOf(work.Tags), map[string]string{"span.kind": "string internal",
				"otel.scope.name": "string jaeger-go", "otel.scope.version": "string 1.0"}),
			same("logs", len(serve.Logs), 1),
			same("log's time", serve.Logs[0].Timestamp, micros(50*ms)),
			same("log's fields", tagsOf(serve.Logs[0].Fields), map[string]string{"event": "string retry", "attempt": "int64 2"}),
		)
	}
}
