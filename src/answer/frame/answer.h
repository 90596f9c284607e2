// What a question and its answer are, and what answering needs. The questions themselves are the table of
// answer/questions, which server and command line both ask, so an answer is the same bytes at whichever door.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "answer/frame/params.h"
#include "base/nanos.h"
#include "base/result.h"
#include "import/decode/attribute_rules.h"
#include "pipeline/tailer_status.h"
#include "store/store.h"

namespace wf::pipeline {
class Tailer;
}

namespace wf::answer {

class KeptPaths;

// What a running server knows about itself; empty when the command line reads a store directly.
struct ServerFacts {
  std::string role;  // of this process; empty when there is none
  Nanos started_ns = 0;
  std::vector<std::pair<std::string, std::string>> listeners;  // name, address
  std::map<std::string, int64_t> counters;
  std::optional<Nanos> retention_age_ns;
  std::optional<int64_t> retention_bytes;
  pipeline::TailerStatus tailer;
};

struct AnswerContext {
  store::Store& store;
  std::string tenant = "default";
  std::string store_path;
  Nanos now = 0;
  std::function<ServerFacts()> facts;  // may be empty
  decode::DecodeOptions decode;        // attribute rules, for what is uploaded
  pipeline::Tailer* tailer = nullptr;  // null: rows of datasets are not kept up here
  std::string files_path = {};         // where files of datasets lie; empty: in store_path
  KeptPaths* kept_paths = nullptr;     // null: paths are inferred at each question
};

struct Question {
  std::string verb;      // "trace"
  std::string argument;  // "4bf92f…"; empty when the verb takes none
  Params params;
  std::string body = {};  // what is sent along: a program, a definition; empty for a plain GET
  std::string_view method = {};  // of HTTP; empty: GET, or POST with a body
};

struct Answer {
  std::string content_type = "application/json";
  std::string body;     // ends with a newline
  bool faults = false;  // a check found faults and the body says which: the command line exits 1
};

// The one function of each question. Its flags were checked before (answer/questions): names, repetitions, choices,
// bounds.
using Answerer = Result<Answer> (*)(const AnswerContext&, const Question&);

// Text is what a person reads on a terminal (`format=text`); JSON is the default here, and the command line asks for
// text unless told otherwise.
bool WantsText(const Question& question);
Answer TextAnswer(std::string text);
Answer JsonAnswer(std::string json);

// {"error":{"code","message","hint"}} and the names of the codes.
std::string ErrorJson(const Error& error);
std::string_view ErrorCodeName(ErrorCode code);
ErrorCode ErrorCodeFromName(std::string_view name);

}  // namespace wf::answer
