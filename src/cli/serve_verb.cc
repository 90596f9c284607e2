// `wherefore serve`: receives, keeps, answers, until SIGINT or SIGTERM.
#include <malloc.h>
#include <signal.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <thread>

#include "answer/frame/version.h"
#include "cli/settings.h"
#include "cli/store_access.h"
#include "cli/verbs.h"
#include "json/json_writer.h"
#include "log/log.h"
#include "server/serve.h"

namespace wf::cli {
namespace {

// What the flags say, as text; ServeOptions is what they mean.
struct ServeFlags {
  server::ServeOptions options;
  std::string role = "all";
  std::string drain_delay;
  std::string sync = "on";
  std::string retention_age, retention_bytes, max_request_bytes, max_inflight_bytes, int_keep;
  std::vector<std::string> attribute_rules;
  std::string tailer = "on";
  std::vector<std::string> tailer_triggers;
  std::string tailer_cache_bytes, tailer_cache_expiry, tailer_remember_ids;
  std::string log_level = "info";
  bool no_agent = false;
  bool check = false;
};

Status ParseSwitch(const char* name, const std::string& text, bool& out) {
  if (text != "on" && text != "off" && text != "true" && text != "false") {
    return BadInput(std::string(name) + ": \"" + text + "\" is neither on nor off",
                    "choose one of them");
  }
  out = text == "on" || text == "true";
  return {};
}

Status ParseDurationFlag(const char* name, const std::string& text, Nanos& out) {
  if (text.empty()) return {};
  auto time = ParseDuration(text);
  if (!time.ok())
    return BadInput(std::string(name) + ": " + time.error().message, time.error().hint);
  out = *time;
  return {};
}

Status InterpretTailer(const ServeFlags& flags, server::ServeOptions& options) {
  WF_TRY(ParseSwitch("--tailer", flags.tailer, options.tailer));
  pipeline::CacheOptions& cache = options.tailer_options.cache;
  WF_TRY(ParseDurationFlag("--tailer-cache-expiry", flags.tailer_cache_expiry, cache.expiry));
  WF_TRY(ParseDurationFlag("--tailer-remember-ids", flags.tailer_remember_ids, cache.remember));
  if (!flags.tailer_cache_bytes.empty()) {
    auto bytes = ParseByteSize(flags.tailer_cache_bytes);
    if (!bytes.ok())
      return BadInput("--tailer-cache-bytes: " + bytes.error().message, bytes.error().hint);
    cache.bytes = static_cast<size_t>(*bytes);
  }
  if (!flags.tailer_triggers.empty()) cache.triggers.clear();
  for (const std::string& text : flags.tailer_triggers) {
    WF_ASSIGN(pipeline::Trigger trigger, pipeline::ParseTrigger(text));
    cache.triggers.push_back(std::move(trigger));
  }
  if (cache.triggers.size() > pipeline::kMaxTriggers) {
    return BadInput(
        "--tailer-trigger: more than " + std::to_string(pipeline::kMaxTriggers) + " of them",
        "leave some out");
  }
  return {};
}

Status Interpret(ServeFlags& flags, const CommonFlags& common) {
  server::ServeOptions& options = flags.options;
  options.store = common.store;
  WF_ASSIGN(options.role, cluster::ParseRole(flags.role));
  if (options.state.empty()) options.state = DefaultState(flags.role);
  WF_TRY(ParseDurationFlag("--drain-delay", flags.drain_delay, options.drain_delay));
  options.agent = !flags.no_agent;
  WF_TRY(ParseSwitch("--sync", flags.sync, options.sync));
  WF_TRY(InterpretTailer(flags, options));
  if (!flags.retention_age.empty()) {
    auto age = ParseDuration(flags.retention_age);
    if (!age.ok()) return BadInput("--retention-age: " + age.error().message, age.error().hint);
    options.retention_age_ns = *age;
  }
  const auto size = [](const char* name, const std::string& text, auto& out) -> Status {
    if (text.empty()) return {};
    auto bytes = ParseByteSize(text);
    if (!bytes.ok())
      return BadInput(std::string(name) + ": " + bytes.error().message, bytes.error().hint);
    out = *bytes;
    return {};
  };
  WF_TRY(size("--retention-bytes", flags.retention_bytes, options.retention_bytes));
  WF_TRY(size("--max-request-bytes", flags.max_request_bytes, options.max_request_bytes));
  WF_TRY(size("--max-inflight-bytes", flags.max_inflight_bytes, options.max_inflight_bytes));
  WF_TRY(size("--int-keep", flags.int_keep, options.int_keep_bytes));
  for (const std::string& text : flags.attribute_rules) {
    WF_ASSIGN(auto rule, ParseAttributeRule(text));
    options.attribute_rules.push_back(std::move(rule));
  }
  WF_ASSIGN(const log::Level level, log::ParseLevel(flags.log_level));
  log::SetLevel(level);
  return server::CheckServeOptions(options);
}

Status PrintListeners(const server::Server& server, const std::string& format) {
  if (format == "json") {
    JsonWriter json;
    json.BeginObject();
    for (const auto& [name, address] : server.listeners()) json.Field(name, address);
    json.EndObject();
    return Print(json.Take() + "\n");
  }
  std::string text;
  for (const auto& [name, address] : server.listeners()) {
    const bool web = name == "http" && address != "off";
    const char* scheme = !web ? "" : server.speaks_tls() ? "https://" : "http://";
    text += name + std::string(11 - name.size(), ' ') + scheme + address + "\n";
  }
  return Print(text);
}

// A server that runs for months gives back what it freed. By default glibc raises the size from which a buffer has pages of
// its own to 32 MiB once such a one was freed, and keeps eight heaps a core: what a burst took would then stay. A tailer behind
// a store that had been away took 138 MiB instead of 196.
void BoundTheHeap() {
  mallopt(M_MMAP_THRESHOLD, 1 << 20);
  mallopt(M_ARENA_MAX, static_cast<int>(std::max(2u, std::thread::hardware_concurrency())));
}

Status RunServe(ServeFlags& flags, const CommonFlags& common) {
  WF_TRY(Interpret(flags, common));
  if (flags.check) {
    return Print(common.format == "json" ? "{\"ok\":true}\n" : "the configuration is valid\n");
  }
  BoundTheHeap();
  // Signals are taken by this thread alone, with sigwait; threads started below inherit the mask.
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGINT);
  sigaddset(&signals, SIGTERM);
  sigaddset(&signals, SIGHUP);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  ::signal(SIGPIPE, SIG_IGN);

  WF_ASSIGN(const auto server, server::Server::Start(flags.options, [&](Nanos time) {
              const timespec wait{time / kSecond, time % kSecond};
              const int signal = sigtimedwait(&signals, nullptr, &wait);
              return signal != SIGINT && signal != SIGTERM;
            }));
  if (server == nullptr) {
    log::Info("stopped before the server was ready");
    return {};
  }
  WF_TRY(PrintListeners(*server, common.format));
  int signal = 0;
  while (sigwait(&signals, &signal) == 0 && signal == SIGHUP) server->Reload();
  sigdelset(&signals, SIGHUP);  // nothing is loaded anew while we stop
  log::Info("stopping: {}", signal == SIGINT ? "interrupted" : "terminated");
  server->Drain();
  // A second signal ends the wait, a third a stop that takes too long: what is acknowledged is kept already.
  if (const Nanos delay = signal == SIGTERM ? flags.options.drain_delay : 0; delay > 0) {
    const timespec patience{delay / kSecond, delay % kSecond};
    (void)sigtimedwait(&signals, nullptr, &patience);
  }
  pthread_sigmask(SIG_UNBLOCK, &signals, nullptr);
  server->Stop(5 * kSecond);
  return {};
}

}  // namespace

Verb AddServe(CLI::App& root) {
  Verb verb = MakeVerb(
      root, "serve",
      "Start the server: receive and store traces, answer questions, serve the web interface");
  const auto flags = std::make_shared<ServeFlags>();
  CLI::App& app = *verb.app;
  server::ServeOptions& o = flags->options;
  app.add_option("--role", flags->role,
                 "all, or one part: receive, tail or query (docs/use/cluster.md)")
      ->capture_default_str();
  app.add_option("--bus", o.bus,
                 "kafka://HOST:PORT[,HOST:PORT…][/TOPIC]: receivers publish there, tailers read");
  app.add_option("--bus-config", o.bus_config,
                 "file of bus properties such as passwords, one PROPERTY=VALUE per line");
  app.add_option("--store-password-file", o.store_password_file,
                 "file with the database password, instead of one in the URL");
  app.add_option("--store-ca", o.store_ca,
                 "PEM file of the CA of the database's certificate (default: system CAs)");
  app.add_option("--state", o.state,
                 "directory of what this process keeps when the store is no directory "
                 "(~/.local/state/wherefore/ROLE)");
  app.add_option("--drain-delay", flags->drain_delay,
                 "after SIGTERM, time to report not ready before refusing connections (0s)");
  app.add_option("--http", o.http,
                 "web interface and API: [HOST:]PORT or off; port 0 picks a free one")
      ->capture_default_str();
  app.add_option("--otlp-grpc", o.otlp_grpc, "OpenTelemetry over gRPC: [HOST:]PORT or off")
      ->capture_default_str();
  app.add_option("--otlp-http", o.otlp_http, "OpenTelemetry over HTTP, protobuf and JSON")
      ->capture_default_str();
  app.add_option("--zipkin", o.zipkin, "Zipkin v2 JSON")->capture_default_str();
  app.add_option("--jaeger", o.jaeger, "Jaeger collector, Thrift over HTTP")->capture_default_str();
  app.add_option("--int", o.int_reports, "INT telemetry reports over UDP; stored in STORE/int")
      ->capture_default_str();
  app.add_option("--int-keep", flags->int_keep,
                 "max size of stored reports; the oldest are deleted (256MiB)");
  app.add_option("--sync", flags->sync,
                 "on: acknowledged spans survive power loss; off: they survive only a crash of "
                 "this process")
      ->capture_default_str();
  app.add_option("--retention-age", flags->retention_age,
                 "delete data received longer ago, as in 7d");
  app.add_option("--retention-bytes", flags->retention_bytes,
                 "max size of the directory; the oldest data is deleted, as in 20GB");
  app.add_option("--max-request-bytes", flags->max_request_bytes,
                 "refuse larger requests, decoded (64MiB)");
  app.add_option("--max-inflight-bytes", flags->max_inflight_bytes,
                 "max bytes of requests in progress; beyond it senders must wait (128MiB)");
  app.add_option("--tls-cert", o.tls_cert,
                 "PEM file of the certificate, with its chain: every TCP listener speaks TLS");
  app.add_option("--tls-key", o.tls_key, "PEM file of its key");
  app.add_option("--tls-client-ca", o.tls_client_ca,
                 "PEM file of the CA that every client's certificate must be signed by");
  app.add_option("--accounts", o.accounts,
                 "YAML file of accounts, their rights and limits (docs/use/security.md)");
  app.add_option("--audit-log", o.audit_log,
                 "file to record administrative actions in, or off (audit.jsonl in the store)");
  app.add_flag("--allow-anonymous", o.allow_anonymous,
               "allow listeners beyond loopback without sign-in");
  app.add_option("--allow-host", o.allowed_hosts,
                 "host name under which browsers may open the web interface; repeatable")
      ->take_all();
  app.add_option(
         "--events-origins", o.events_origins,
         "another site whose pages may send events, such as https://shop.example; repeatable")
      ->take_all();
  app.add_option("--attribute-rule", flags->attribute_rules,
                 "drop or hash attributes before storing: \"ACTION [PLACE] KEY\"; repeatable")
      ->take_all();
  pipeline::TailerOptions& t = o.tailer_options;
  app.add_option("--tailer", flags->tailer,
                 "on: update datasets as traces arrive; off: only by backfill and import")
      ->capture_default_str();
  app.add_option("--tailer-trigger", flags->tailer_triggers,
                 "when a trace is processed: \"NAME TIMEOUT after first|last [within DURATION] "
                 "[limit DURATION] [when KEY=VALUE]\" (live 10s after last within 60s); repeatable")
      ->take_all();
  app.add_option("--tailer-cache-bytes", flags->tailer_cache_bytes,
                 "max bytes of events waiting to be processed (256MiB)");
  app.add_option("--tailer-cache-expiry", flags->tailer_cache_expiry,
                 "after a trace's last event (2m)");
  app.add_option("--tailer-remember-ids", flags->tailer_remember_ids,
                 "of traces that left the cache (5h)");
  app.add_option("--tailer-queue", t.isolation_queue, "max traces waiting for one owner's datasets")
      ->capture_default_str()
      ->check(CLI::Range(1, 1'000'000));
  app.add_option("--tailer-owner-rate", t.owner_rate,
                 "max traces per second processed at once for one owner's datasets; the rest "
                 "later; 0: no limit")
      ->capture_default_str()
      ->check(CLI::Range(0.0, 1e9));
  app.add_option("--tailer-builders", t.builders, "number of threads that build traces")
      ->capture_default_str()
      ->check(CLI::Range(1, 64));
  app.add_option("--tailer-extractors", t.extractors, "number of threads that extract features")
      ->capture_default_str()
      ->check(CLI::Range(1, 64));
  app.add_option("--max-events-per-trace", t.cache.max_events_per_trace,
                 "max events stored per trace")
      ->capture_default_str()
      ->check(CLI::PositiveNumber);
  app.add_option(
         "--self-trace", o.self_trace,
         "share of the server's own requests traced into its store, as service wherefore: 0 to 1")
      ->capture_default_str()
      ->check(CLI::Range(0.0, 1.0));
  app.add_flag("--no-agent", flags->no_agent,
               "do not run live queries in the processes of this host");
  app.add_option("--log-level", flags->log_level, "debug, info, warn, error or off")
      ->capture_default_str();
  app.add_flag("--check", flags->check, "check the configuration and exit");
  verb.run = [flags, common = verb.common] { return RunServe(*flags, *common); };
  return verb;
}

}  // namespace wf::cli
