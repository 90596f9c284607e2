#include "wherefore/tracer.h"

#include <sys/utsname.h>
#include <unistd.h>

#include <cerrno>  // program_invocation_short_name
#include <cstdlib>
#include <cstring>

#include "client/http_connection.h"
#include "client/otlp_encoder.h"
#include "client/otlp_exporter.h"

namespace wherefore {
namespace {

std::string FromEnvironment(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr ? value : "";
}

bool Disabled() {
  const std::string value = FromEnvironment("WHEREFORE_DISABLED");
  return !value.empty() && value != "0" && value != "false";
}

std::string EndpointText(const TracerOptions& options) {
  if (!options.endpoint.empty()) return options.endpoint;
  std::string text = FromEnvironment("WHEREFORE_ENDPOINT");
  if (!text.empty()) return text;
  // OpenTelemetry: the specific variable is used as it stands, to the general one the path is added.
  text = FromEnvironment("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT");
  if (!text.empty()) return text;
  text = FromEnvironment("OTEL_EXPORTER_OTLP_ENDPOINT");
  if (text.empty()) return "http://127.0.0.1:4318/v1/traces";
  while (text.back() == '/') text.pop_back();
  return text + "/v1/traces";
}

client::ProcessLabels FindProcessLabels(const TracerOptions& options) {
  utsname host{};
  uname(&host);
  std::string service = options.service_name;
  if (service.empty()) service = FromEnvironment("OTEL_SERVICE_NAME");
  if (service.empty()) service = program_invocation_short_name;
  std::string instance = options.instance_id;
  if (instance.empty()) instance = std::string(host.nodename) + ":" + std::to_string(getpid());
  client::ProcessLabels labels = {{"service.name", service},
                                  {"service.instance.id", instance},
                                  {"host.name", host.nodename},
                                  {"telemetry.sdk.name", "libwherefore"},
                                  {"telemetry.sdk.language", "cpp"}};
  labels.insert(labels.end(), options.process_labels.begin(), options.process_labels.end());
  return labels;
}

}  // namespace

Tracer::Tracer(const TracerOptions& options)
    : thread_ids_(options.thread_ids), shutdown_deadline_(options.shutdown_deadline) {
  if (Disabled()) return;
  const std::string text = EndpointText(options);
  auto endpoint = client::HttpUrl::Parse(text);
  if (!endpoint) {
    exporter_ = client::OtlpExporter::Unusable("endpoint " + text +
                                               " is not of the form http://host:port/path");
    return;
  }
  if (endpoint->path == "/") endpoint->path = "/v1/traces";
  exporter_ = client::OtlpExporter::Start(
      options, std::move(*endpoint), client::EncodeProcess(FindProcessLabels(options), getpid()));
}

Tracer::~Tracer() { Shutdown(shutdown_deadline_); }

TracerStats Tracer::stats() const { return exporter_ ? exporter_->stats() : TracerStats(); }

std::string Tracer::LastError() const { return exporter_ ? exporter_->LastError() : std::string(); }

bool Tracer::Flush(std::chrono::milliseconds deadline) {
  return exporter_ == nullptr || exporter_->Flush(deadline);
}

void Tracer::Shutdown(std::chrono::milliseconds deadline) {
  if (exporter_ != nullptr) exporter_->Shutdown(deadline);
}

}  // namespace wherefore
