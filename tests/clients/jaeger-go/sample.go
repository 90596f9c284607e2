package main

import (
	"bytes"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"time"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"
)

// Two traces. The first, a second older:
//
//	web        GET /cart    server, root, 0–100 ms
//	web        call cart    client, 10–90 ms
//	cart/eu    GET cart     server, 20–80 ms, error, one event, one link to the second trace, every type of value
//	cart/eu    compute      internal, 30–40.5 ms
//
// The second: web, GET /, server, 5 ms.
//
// Service names end in a random text, so that a server that holds other traces can be asked, and cart's has a slash.
type sample struct {
	web, cart     string
	first, second pcommon.TraceID
	start         time.Time
	root, call    pcommon.SpanID
	serve, work   pcommon.SpanID
}

func newSample(start time.Time) *sample {
	s := &sample{start: start}
	suffix := make([]byte, 4)
	for _, id := range [][]byte{suffix, s.first[:], s.second[:], s.root[:], s.call[:], s.serve[:], s.work[:]} {
		if _, err := rand.Read(id); err != nil {
			panic(err)
		}
	}
	s.web = "web-" + hex.EncodeToString(suffix)
	s.cart = "cart/eu-" + hex.EncodeToString(suffix)
	return s
}

func (s *sample) at(offset time.Duration) pcommon.Timestamp {
	return pcommon.NewTimestampFromTime(s.start.Add(offset))
}

func (s *sample) span(to ptrace.SpanSlice, trace pcommon.TraceID, id, parent pcommon.SpanID, name string,
	kind ptrace.SpanKind, begin, end time.Duration) ptrace.Span {
	span := to.AppendEmpty()
	span.SetTraceID(trace)
	span.SetSpanID(id)
	span.SetParentSpanID(parent)
	span.SetName(name)
	span.SetKind(kind)
	span.SetStartTimestamp(s.at(begin))
	span.SetEndTimestamp(s.at(end))
	return span
}

func process(traces ptrace.Traces, service string) ptrace.SpanSlice {
	resource := traces.ResourceSpans().AppendEmpty()
	resource.Resource().Attributes().PutStr("service.name", service)
	resource.Resource().Attributes().PutStr("host.name", "host-of-"+service)
	resource.Resource().Attributes().PutInt("process.pid", 4711)
	scope := resource.ScopeSpans().AppendEmpty()
	scope.Scope().SetName("jaeger-go")
	scope.Scope().SetVersion("1.0")
	return scope.Spans()
}

func (s *sample) traces() ptrace.Traces {
	const ms = time.Millisecond
	none := pcommon.SpanID{}
	traces := ptrace.NewTraces()
	web := process(traces, s.web)
	s.span(web, s.first, s.root, none, "GET /cart", ptrace.SpanKindServer, 0, 100*ms)
	s.span(web, s.first, s.call, s.root, "call cart", ptrace.SpanKindClient, 10*ms, 90*ms)
	s.span(web, s.second, s.root, none, "GET /", ptrace.SpanKindServer, time.Second, time.Second+5*ms)

	cart := process(traces, s.cart)
	serve := s.span(cart, s.first, s.serve, s.call, "GET cart", ptrace.SpanKindServer, 20*ms, 80*ms)
	serve.Status().SetCode(ptrace.StatusCodeError)
	serve.Status().SetMessage("no cart")
	serve.Attributes().PutStr("user", "u 7 \"ü\"")
	serve.Attributes().PutInt("items", -3)
	serve.Attributes().PutInt("huge", 9007199254740993)
	serve.Attributes().PutDouble("ratio", 0.25)
	serve.Attributes().PutBool("cached", false)
	serve.Attributes().PutEmptyBytes("raw").FromRaw([]byte{0, 255, 1})
	list := serve.Attributes().PutEmptySlice("list")
	list.AppendEmpty().SetStr("a")
	list.AppendEmpty().SetInt(2)
	event := serve.Events().AppendEmpty()
	event.SetName("retry")
	event.SetTimestamp(s.at(50 * ms))
	event.Attributes().PutInt("attempt", 2)
	link := serve.Links().AppendEmpty()
	link.SetTraceID(s.second)
	link.SetSpanID(s.root)
	s.span(cart, s.first, s.work, s.serve, "compute", ptrace.SpanKindInternal, 30*ms, 40*ms+500*time.Microsecond)
	return traces
}

func (s *sample) send(otlp string) error {
	body, err := (&ptrace.ProtoMarshaler{}).MarshalTraces(s.traces())
	if err != nil {
		return err
	}
	response, err := http.Post(otlp+"/v1/traces", "application/x-protobuf", bytes.NewReader(body))
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		text, _ := io.ReadAll(response.Body)
		return fmt.Errorf("POST /v1/traces: %s: %s", response.Status, text)
	}
	return nil
}
