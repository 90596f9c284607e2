// A block on its way to become an OTLP span, and what else a block carries that most blocks do not need.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "client/sampling/os_sample.h"
#include "wherefore/context.h"
#include "wherefore/event.h"
#include "wherefore/tracer.h"

namespace wherefore::client {

struct SpanDraft {
  bool parent_remote = false;
  int64_t start_ns = 0;
  uint32_t left_out_labels = 0;
  uint32_t left_out_points = 0;
  uint32_t left_out_links = 0;
  std::string name;
  std::string body;  // labels, points and links, already encoded

  void AppendLabel(std::string_view key, const LabelValue& value) noexcept;
  void AppendPoint(std::string_view name, std::initializer_list<Label> labels) noexcept;
  void AppendLink(const RequestContext& to, std::initializer_list<Label> labels) noexcept;
  void AppendEvent(EventType type, const Annotation* annotations, size_t count) noexcept;
};

struct BlockExtra {
  RequestContext own;
  std::optional<ContextScope> scope;
  std::string error;
  bool resolved = false;
  std::optional<OsSample> os;
  SpanDraft draft;
};

}  // namespace wherefore::client
