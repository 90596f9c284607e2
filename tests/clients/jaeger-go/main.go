// Reads a running server as Grafana's Jaeger data source does, and decodes the answers with Jaeger's own types.
//
//	go run . -http http://127.0.0.1:8642 -otlp http://127.0.0.1:4318
//
// It sends two traces of its own over OTLP, asks everything that Grafana asks, and prints one line a request:
// "ok NAME" or "not ok NAME". Exit code 1 when one failed. Needs Go 1.19 (Debian 12's) or newer.
package main

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"time"
)

// A request Grafana sends, and what must be true of the answer.
type request struct {
	name  string
	path  string // with the query, escaped as Grafana escapes it
	check func(answer) error
}

// How long an answer may take to become right, by the request's name: dependencies come from a dataset, whose rows
// follow the traces.
var patience = map[string]time.Duration{"dependencies": time.Minute}

func main() {
	http := flag.String("http", "http://127.0.0.1:8642", "where the server answers questions")
	otlp := flag.String("otlp", "http://127.0.0.1:4318", "where the server takes OTLP over HTTP")
	flag.Parse()

	sample := newSample(time.Now().Add(-time.Minute).Truncate(time.Microsecond))
	if err := sample.send(*otlp); err != nil {
		fmt.Fprintf(os.Stdout, "not ok jaeger-go: send the traces # %s\n", err)
		os.Exit(1)
	}
	failed := false
	for _, r := range grafanaRequests(sample) {
		var got answer
		var err error
		for deadline := time.Now().Add(patience[r.name]); ; time.Sleep(100 * time.Millisecond) {
			got, err = get(*http + r.path)
			if err == nil {
				err = r.check(got)
			}
			if err == nil || time.Now().After(deadline) {
				break
			}
		}
		if err != nil {
			failed = true
			reason := strings.ReplaceAll(err.Error(), "\n", " ")
			fmt.Printf("not ok jaeger-go: %s\n    GET %s\n    %s\n    status %d, body %.2000s\n", r.name, r.path, reason, got.status, got.body)
		} else {
			fmt.Printf("ok jaeger-go: %s\n", r.name)
		}
	}
	if failed {
		os.Exit(1)
	}
}
