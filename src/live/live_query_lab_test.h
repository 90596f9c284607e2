// For tests: reports as a process would send them for a query.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "advice/interpreter.h"
#include "advice/results.h"
#include "base/base64.h"
#include "base/ids.h"
#include "json/json_writer.h"
#include "live/compile_live.h"
#include "store/open/open_store.h"

namespace wf::live::live_testing {

inline std::shared_ptr<const advice::Program> Compiled(const std::string& text, uint64_t id = 7) {
  LiveQuerySpec spec;
  spec.text = text;
  auto program = CompileLive(spec, id);
  EXPECT_TRUE(program.ok()) << (program.ok() ? "" : program.error().message);
  return *program;
}

class OneEvent : public advice::Event {
 public:
  explicit OneEvent(std::map<std::string, advice::Value> variables)
      : variables_(std::move(variables)) {}
  advice::Value Variable(std::string_view name) const override {
    const auto found = variables_.find(std::string(name));
    return found == variables_.end() ? advice::Value() : found->second;
  }
  int64_t time_ns() const override { return 0; }
  std::string_view id() const override { return "e"; }

 private:
  const std::map<std::string, advice::Value> variables_;
};

class NoBaggage : public advice::Baggage {
 public:
  advice::PackedTuples Unpack(const advice::Program& program, uint32_t slot) override {
    return advice::PackedTuples(program.slots[slot]);
  }
  void Pack(const advice::Program&, uint32_t, int64_t, std::string_view, advice::Rows) override {}
};

class Into : public advice::Emitter {
 public:
  explicit Into(advice::Results& results) : results_(results) {}
  void EmitTuples(const advice::Program&, advice::Rows rows) override { results_.Add(rows); }

 private:
  advice::Results& results_;
};

inline void Hit(const advice::Program& program, advice::Results& results,
                const std::map<std::string, advice::Value>& variables, int times = 1) {
  NoBaggage baggage;
  Into into(results);
  for (int i = 0; i < times; ++i)
    advice::RunAdvice(program, program.advice[0].tracepoints[0], OneEvent(variables), baggage,
                      into);
}

// The results of one process: `times` events with this `host`.
inline std::string Partial(const advice::Program& program, const std::string& host, int times) {
  advice::Results results(program);
  Hit(program, results, {{"host", advice::Value(host)}}, times);
  return results.Encode();
}

inline std::string ReportJson(const std::string& instance, const std::string& query, int64_t start,
                              const std::string& partial, int hits) {
  JsonWriter json;
  json.BeginObject().Field("instance", instance).Field("host", "h").Key("results").BeginArray();
  json.BeginObject()
      .Field("query", query)
      .Field("start_ns", start)
      .Field("end_ns", start + kSecond)
      .Field("partial", Base64Encode(partial))
      .Field("hits", hits)
      .Field("tuples", hits)
      .EndObject();
  json.EndArray().EndObject();
  return json.Take();
}

class StoreFolder {
 public:
  StoreFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "wherefore-live-XXXXXX").string();
    path = ::mkdtemp(name.data());
    Open();
  }
  ~StoreFolder() {
    store.reset();
    std::filesystem::remove_all(path);
  }
  void Open() {
    auto opened = store::OpenStore(path);
    EXPECT_TRUE(opened.ok());
    store = std::move(*opened);
  }
  std::string path;
  std::unique_ptr<store::Store> store;
};

}  // namespace wf::live::live_testing
