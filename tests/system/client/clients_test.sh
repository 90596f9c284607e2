#!/usr/bin/env bash
# needs: wherefore
# timeout: 600
# Real clients (OpenTelemetry, Zipkin, Jaeger, Grafana's requests) against a real server: tests/clients/run.
exec "$(dirname "$0")/../../clients/run"
