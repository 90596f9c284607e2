// Jaeger's /api/v3: the same questions, answered as OTLP JSON wrapped in {"result":…}; errors are
// {"error":{"httpCode","message"}}.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "answer/jaeger/jaeger_query.h"

namespace wf::answer {

std::optional<JaegerAnswer> AnswerJaegerV3(store::EventStore& store, const std::string& tenant,
                                           std::string_view path, const QueryParams& params);

}  // namespace wf::answer
