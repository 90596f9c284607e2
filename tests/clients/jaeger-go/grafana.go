package main

import (
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"time"

	"go.opentelemetry.io/collector/pdata/ptrace"
)

// Every request that Grafana's Jaeger data source sends, from its source:
//
//	pkg/tsdb/jaeger/client.go          Services, Operations, Search, Trace, Dependencies (Grafana 11.5 and newer)
//	pkg/tsdb/jaeger/grpc_client.go     GrpcServices, GrpcOperations, GrpcSearch, GrpcTrace (feature jaegerEnableGrpcEndpoint)
//	public/app/plugins/datasource/jaeger/datasource.ts     testDatasource, query (7.4 to 11.4)
//	public/app/plugins/datasource/jaeger/components/SearchForm.tsx     loadOptions (services, operations)
//	public/app/plugins/datasource/jaeger/QueryField.tsx     findOperations, findTraces (6.4 to 7.3)
//
// Escaping is theirs: Go's url.JoinPath leaves the slash of a service's name, JavaScript's encodeURIComponent does not;
// v3 times are not escaped at all.
func grafanaRequests(s *sample) []request {
	first, second := s.first.String(), s.second.String()
	from, to := s.start.Add(-time.Hour), s.start.Add(time.Hour)
	micros := func(t time.Time) string { return fmt.Sprint(t.UnixMicro()) }
	millis := func(t time.Time) string { return fmt.Sprint(t.UnixMilli()) }
	query := func(pairs ...string) string {
		values := url.Values{}
		for i := 0; i < len(pairs); i += 2 {
			values.Set(pairs[i], pairs[i+1])
		}
		return values.Encode()
	}
	window := []string{"start", micros(from), "end", micros(to)}
	search := func(pairs ...string) string { return "/api/traces?" + query(append(pairs, window...)...) }
	v3window := "&query.start_time_min=" + from.UTC().Format(time.RFC3339Nano) +
		"&query.start_time_max=" + to.UTC().Format(time.RFC3339Nano)
	v3search := func(pairs ...string) string { return "/api/v3/traces?" + query(pairs...) + v3window }
	tags := func(pairs ...string) string {
		values := map[string]string{}
		for i := 0; i < len(pairs); i += 2 {
			values[pairs[i]] = pairs[i+1]
		}
		text, _ := json.Marshal(values)
		return string(text)
	}
	// A Grafana that does not run in UTC: the plus is not escaped either.
	elsewhere := func(t time.Time) string { return t.In(time.FixedZone("", 3600)).Format(time.RFC3339Nano) }
	joined := func(service string) string { return (&url.URL{Path: service}).EscapedPath() }

	return []request{
		// client.go Services; datasource.ts testDatasource; SearchForm.tsx and QueryField.tsx
		{"services", "/api/services", wantServices(s)},
		// client.go Operations
		{"operations, slash as it is", "/api/services/" + joined(s.cart) + "/operations", wantOperations("GET cart", "compute")},
		// SearchForm.tsx, QueryField.tsx findOperations
		{"operations, slash escaped", "/api/services/" + url.PathEscape(s.cart) + "/operations", wantOperations("GET cart", "compute")},

		// client.go Trace; datasource.ts query
		{"trace by id", "/api/traces/" + first, wantFirstTrace(s)},
		// client.go Trace with traceIdTimeParams: milliseconds, where Jaeger reads microseconds
		{"trace by id with times", "/api/traces/" + first + "?" + query("start", millis(from), "end", millis(to)), wantFirstTrace(s)},
		{"unknown trace", "/api/traces/00000000000000000000000000abcdef", wantError(404, "trace not found")},
		{"malformed trace id", "/api/traces/not-hex", wantError(400, "")},

		// client.go Search: what the search form holds, in every combination that changes the answer
		{"search by service", search("service", s.web, "limit", "20"), wantTraces(second, first)},
		{"search, limited", search("service", s.web, "limit", "1"), wantTraces(second)},
		{"search by operation", search("service", s.web, "operation", "GET /cart"), wantTraces(first)},
		{"search by tag", search("service", s.cart, "tags", tags("user", "u 7 \"ü\"", "items", "-3")), wantTraces(first)},
		{"search by a tag nobody has", search("service", s.cart, "tags", tags("user", "u8")), wantTraces()},
		{"search by error", search("service", s.cart, "tags", tags("error", "true")), wantTraces(first)},
		{"search by kind", search("service", s.web, "tags", tags("span.kind", "client")), wantTraces(first)},
		{"search by process tag", search("service", s.web, "tags", tags("host.name", "host-of-"+s.web)), wantTraces(second, first)},
		{"search by least duration", search("service", s.web, "minDuration", "50ms"), wantTraces(first)},
		{"search by greatest duration", search("service", s.web, "maxDuration", "50ms"), wantTraces(second)},
		{"search by both", search("service", s.web, "minDuration", "1.5ms", "maxDuration", "0.01s"), wantTraces(second)},
		{"search outside the time", "/api/traces?" + query("service", s.web, "start", micros(from), "end", micros(s.start.Add(-time.Second))), wantTraces()},
		{"search without times", "/api/traces?" + query("service", s.web), wantTraces(second, first)},
		{"search without service", search("limit", "20"), wantError(400, "parameter 'service' is required")},
		{"search with a bad duration", search("service", s.web, "minDuration", "fast"), wantError(400, "minDuration")},
		// datasource.ts query: as above, and lookback
		{"search as Grafana 7.4 to 11.4", search("service", s.web, "limit", "20", "lookback", "custom"), wantTraces(second, first)},
		// QueryField.tsx findTraces: empty values, lookback beside the times
		{"search as Grafana 6.4 to 7.3", search("service", s.web, "operation", "", "limit", "10", "lookback", "1h", "maxDuration", "", "minDuration", ""), wantTraces(second, first)},

		// client.go Dependencies
		{"dependencies", "/api/dependencies?" + query("endTs", millis(to), "lookback", fmt.Sprint(to.Sub(from).Milliseconds())), wantDependency(s.web, s.cart, 1)},
		{"dependencies of another time", "/api/dependencies?" + query("endTs", "3600000", "lookback", "3600000"), wantNoDependencies},

		// grpc_client.go
		{"v3 services", "/api/v3/services", wantV3Services(s)},
		{"v3 operations", "/api/v3/operations?" + query("service", s.cart), wantV3Operations("GET cart/server", "compute/internal")},
		{"v3 trace by id", "/api/v3/traces/" + first, wantV3Trace(s)},
		{"v3 trace by id with times", "/api/v3/traces/" + first + "?start_time=" + elsewhere(from) + "&end_time=" + elsewhere(to), wantV3Trace(s)},
		{"v3 unknown trace", "/api/v3/traces/00000000000000000000000000abcdef", wantV3Error(404)},
		{"v3 search by service", v3search("query.service_name", s.web), wantV3Traces(first, second)},
		{"v3 search by operation", v3search("query.service_name", s.web, "query.operation_name", "GET /"), wantV3Traces(second)},
		{"v3 search by attributes", v3search("query.service_name", s.cart, "query.attributes", tags("items", "-3")), wantV3Traces(first)},
		{"v3 search by duration", v3search("query.service_name", s.web, "query.duration_min", "1ms", "query.duration_max", "10ms"), wantV3Traces(second)},
		{"v3 search finds nothing", v3search("query.service_name", "nobody"), wantV3Error(404)},
		{"v3 search without times", "/api/v3/traces?" + query("query.service_name", s.web), wantV3Error(400)},
	}
}

// Names of kinds as /api/v3/operations writes them.
func kindName(kind ptrace.SpanKind) string { return strings.ToLower(kind.String()) }
