// Params: the flags of a question, by name with `_`, as they stand in a URL's query or on the command line. Both front
// ends fill one, so that both give the same answer and the same error for the same words.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/nanos.h"
#include "base/result.h"

namespace wf::answer {

class Params {
 public:
  Params() = default;
  explicit Params(std::vector<std::pair<std::string, std::string>> values)
      : values_(std::move(values)) {}

  void Add(std::string name, std::string value) {
    values_.emplace_back(std::move(name), std::move(value));
  }
  const std::vector<std::pair<std::string, std::string>>& values() const { return values_; }

  // The first value of that name, if any.
  std::optional<std::string> Get(std::string_view name) const;
  std::vector<std::string> All(std::string_view name) const;

  // Typed: nullopt when absent, an error naming the flag and the text when malformed.
  Result<std::optional<Nanos>> Duration(std::string_view name) const;
  Result<std::optional<Nanos>> Instant(std::string_view name, Nanos now) const;
  Result<std::optional<int64_t>> Integer(std::string_view name, int64_t min = INT64_MIN,
                                         int64_t max = INT64_MAX) const;
  // One of `choices`, else an error that lists them.
  Result<std::optional<std::string>> Choice(std::string_view name,
                                            const std::vector<std::string_view>& choices) const;
  // A flag without a value: "true" or "1", "false" or "0".
  Result<bool> Switch(std::string_view name) const;

  // An error for the first name that is not in `known`, or that is given twice and not in `repeatable`. Empty values
  // of single flags count as absent: a form sends every field.
  Status Check(const std::vector<std::string_view>& known,
               const std::vector<std::string_view>& repeatable = {}) const;

 private:
  std::vector<std::pair<std::string, std::string>> values_;
};

// "--min-duration" for "min_duration".
std::string FlagName(std::string_view name);

}  // namespace wf::answer
