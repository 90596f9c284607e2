// For tests: small networks and programs as texts, and what comes out.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "lang/ndlog/simulation.h"
#include "test_places.h"

namespace wf::ndlog {

inline std::string LibraryProgram(const std::string& name) {
  std::ifstream file(std::string(WHEREFORE_SOURCE_DIR) + "/config/ndlog/" + name + ".ndlog");
  std::ostringstream text;
  text << file.rdbuf();
  EXPECT_FALSE(text.str().empty()) << name;
  return text.str();
}

inline std::string Nodes(const std::vector<std::string>& names) {
  std::string out;
  for (const std::string& name : names) out += "{\"node\":\"" + name + "\"}\n";
  return out;
}

inline std::string FullMesh(const std::vector<std::string>& names, Nanos delay) {
  std::string out = Nodes(names);
  for (size_t i = 0; i < names.size(); ++i)
    for (size_t j = i + 1; j < names.size(); ++j)
      out += "{\"link\":[\"" + names[i] + "\",\"" + names[j] +
             "\"],\"delay_ns\":" + std::to_string(delay) + "}\n";
  return out;
}

struct Change {
  Nanos at;
  std::string verb, tuple;
};

inline std::string Inputs(const std::vector<Change>& changes) {
  std::string out;
  for (const Change& change : changes) {
    std::string escaped;
    for (const char c : change.tuple) {
      if (c == '"' || c == '\\') escaped += '\\';
      escaped += c;
    }
    out += "{\"at_ns\":" + std::to_string(change.at) + ",\"" + change.verb + "\":\"" + escaped +
           "\"}\n";
  }
  return out;
}

// Tuples of one table, or why there are none.
inline std::vector<std::string> TableAfter(const std::string& program, const std::string& topology,
                                           const std::string& inputs, const std::string& table,
                                           RunOptions options = {}) {
  const auto result = RunFromTexts({program, topology, inputs}, options);
  if (!result.ok()) return {result.error().message};
  const auto found = result->tables.find(table);
  return found == result->tables.end() ? std::vector<std::string>{"no such table"} : found->second;
}

using Tuples = std::vector<std::string>;

}  // namespace wf::ndlog
