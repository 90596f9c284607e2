// The table of questions: whole in itself, and what it refuses.
#include "answer/questions/questions.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "json/json_reader.h"
#include "json/json_writer.h"
#include "store/memory/memory_store.h"

namespace wf::answer {
namespace {

using ::testing::HasSubstr;
using Flags = std::vector<std::pair<std::string, std::string>>;

class QuestionsTest : public ::testing::Test {
 protected:
  std::string Refusal(const std::string& verb, const std::string& argument, Flags flags,
                      std::string body = {}) {
    const AnswerContext context{store_, "default", "/nowhere", 1000, {}, {}};
    const auto answer = Ask(context, {verb, argument, Params(std::move(flags)), std::move(body)});
    return answer.ok() ? "" : answer.error().message + " | " + answer.error().hint;
  }
  store::memory::MemoryStore store_;
};

TEST(QuestionTable, EveryQuestionIsWhole) {
  std::set<std::string_view> verbs;
  for (const QuestionVerb& verb : QuestionVerbs()) {
    EXPECT_TRUE(verbs.insert(verb.verb).second) << verb.verb;
    EXPECT_FALSE(verb.summary.empty()) << verb.verb;
    ASSERT_FALSE(verb.kinds.empty()) << verb.verb;
    EXPECT_EQ(verb.kinds.size() > 1, verb.place != ActionPlace::kNone) << verb.verb;
    for (const QuestionKind& kind : verb.kinds) {
      const std::string name = CommandOf(verb, kind);
      EXPECT_FALSE(kind.summary.empty()) << name;
      EXPECT_NE(kind.answer, nullptr) << name;
      EXPECT_EQ(kind.body == BodyUse::kNone, kind.body_help.empty()) << name;
      EXPECT_EQ(kind.method == "GET", kind.right == QuestionRight::kRead) << name;
      std::set<std::string_view> flags;
      for (const QuestionFlag& flag : kind.flags) {
        EXPECT_TRUE(flags.insert(flag.name).second) << name << " " << flag.name;
        EXPECT_EQ(flag.name.find_first_not_of("abcdefghijklmnopqrstuvwxyz_"),
                  std::string_view::npos)
            << name << " " << flag.name;
        EXPECT_FALSE(flag.help.empty()) << name << " " << flag.name;
        EXPECT_EQ(flag.type == FlagType::kChoice, !flag.choices.empty()) << name << flag.name;
        EXPECT_NE(flag.name, "format") << name;
      }
    }
  }
}

// What help says one gets without a flag is something one may write.
TEST(QuestionTable, DefaultsAreValuesOfTheirFlags) {
  for (const QuestionVerb& verb : QuestionVerbs()) {
    for (const QuestionKind& kind : verb.kinds) {
      for (const QuestionFlag& flag : kind.flags) {
        if (flag.by_default.empty()) continue;
        const Question question{
            std::string(verb.verb), flag.when == FlagCase::kWithoutArgument ? "" : "x",
            Params(Flags{{std::string(flag.name), std::string(flag.by_default)}})};
        const Status status = CheckFlags(verb, kind, question, kHour);
        EXPECT_TRUE(status.ok()) << CommandOf(verb, kind) << ": " << status.error().message;
      }
    }
  }
}

// One flag name has one type within a verb: the command line declares it once.
TEST(QuestionTable, FlagsOfOneNameAreAlikeInAVerb) {
  for (const QuestionVerb& verb : QuestionVerbs()) {
    for (const VerbFlag& one : FlagsOfVerb(verb)) {
      for (const QuestionKind& kind : verb.kinds) {
        for (const QuestionFlag& flag : kind.flags) {
          if (flag.name != one.flag->name) continue;
          EXPECT_EQ(flag.type, one.flag->type) << verb.verb << " " << flag.name;
          EXPECT_EQ(flag.count, one.flag->count) << verb.verb << " " << flag.name;
        }
      }
    }
  }
}

TEST_F(QuestionsTest, RequiredFlagsAreMissed) {
  for (const QuestionVerb& verb : QuestionVerbs()) {
    for (const QuestionKind& kind : verb.kinds) {
      const bool required =
          std::any_of(kind.flags.begin(), kind.flags.end(),
                      [](const QuestionFlag& flag) { return flag.need == FlagNeed::kRequired; });
      if (!required) continue;
      std::string argument(kind.action);
      if (kind.argument.use == ArgumentUse::kRequired) argument += "/x";
      const std::string body = kind.body == BodyUse::kNone ? "" : "Trace";
      EXPECT_NE(Refusal(std::string(verb.verb), argument, {}, body), "") << CommandOf(verb, kind);
    }
  }
}

TEST_F(QuestionsTest, FlagsAreCheckedByTheTable) {
  EXPECT_THAT(Refusal("traces", "", {{"servce", "shop"}}),
              HasSubstr("\"servce\" is not a flag of this question | known: service, "));
  EXPECT_EQ(Refusal("traces", "", {{"limit", "1"}, {"limit", "2"}}),
            "--limit is given twice | give it once");
  EXPECT_EQ(Refusal("traces", "", {{"status", "bad"}}),
            "--status: \"bad\" is not one of error, ok, unset | choose one of them");
  EXPECT_EQ(Refusal("traces", "", {{"limit", "0"}}),
            "--limit: \"0\" is not a whole number from 1 to 10000 | give a number in that range");
  EXPECT_THAT(Refusal("traces", "", {{"min_duration", "5"}}), HasSubstr("--min-duration: "));
  EXPECT_THAT(Refusal("traces", "", {{"since", "yesterday"}}), HasSubstr("--since: "));
  EXPECT_THAT(Refusal("explain", "1", {{"raw", "perhaps"}}),
              HasSubstr("--raw: \"perhaps\" is neither true nor false"));
  EXPECT_EQ(Refusal("traces", "", {{"format", "csv"}}),
            "--format: \"csv\" is not one of text, json | choose one of them");
}

TEST_F(QuestionsTest, FlagsGoWithTheCaseTheyAreFor) {
  EXPECT_THAT(Refusal("critical-path", "1", {{"service", "shop"}}), HasSubstr("is not a flag"));
  EXPECT_EQ(Refusal("critical-path", "", {{"service", "shop"}}), "");
  EXPECT_THAT(Refusal("critical-path", "", {{"from", "1"}}),
              HasSubstr("needs the id of one trace"));
}

TEST_F(QuestionsTest, ActionsAreFoundWhereverTheyStand) {
  EXPECT_THAT(Refusal("dance", "", {}), HasSubstr("\"dance\" is not a question"));
  EXPECT_EQ(Refusal("dataset", "dance", {}),
            "dataset dance: no such action | list, columns, query, compare, sql, apply, backfill "
            "or delete");
  EXPECT_EQ(Refusal("dataset", "query", {}),
            "dataset query: no dataset given | wherefore dataset list shows them");
  EXPECT_EQ(Refusal("feature", "dance", {}),
            "feature: \"dance\" is neither check nor run | wherefore feature check FILE, or "
            "wherefore feature run FILE");
  EXPECT_THAT(Refusal("cpg", "1", {{"what", "dance"}}),
              HasSubstr("--what: \"dance\" is not one of graph, lineage, order"));
  EXPECT_EQ(Refusal("cpg", "1", {{"what", "races"}, {"format", "svg"}}),
            "races: has no format svg | it has text and json");
  // Flags of one action may come with another, where one route serves all.
  EXPECT_THAT(Refusal("cpg", "1", {{"what", "races"}, {"nodes", "3"}}),
              HasSubstr("no such recording"));
}

TEST(QuestionTable, RoutesFollowTheTable) {
  std::set<std::string> routes;
  for (const QuestionRoute& route : QuestionRoutes())
    EXPECT_TRUE(routes.insert(std::string(route.method) + " " + route.path).second) << route.path;
  for (const char* wanted :
       {"GET /api/v1/traces", "GET /api/v1/trace/{id}", "GET /api/v1/critical-path",
        "GET /api/v1/critical-path/{id}", "POST /api/v1/explain/{trace_id}",
        "GET /api/v1/dataset/list", "GET /api/v1/dataset/query/{dataset}",
        "POST /api/v1/dataset/apply", "DELETE /api/v1/dataset/delete/{dataset}",
        "POST /api/v1/feature/{action}", "GET /api/v1/cpg/{id}", "POST /api/v1/query"})
    EXPECT_EQ(routes.count(wanted), 1u) << wanted;
}

TEST(QuestionTable, JsonHasEveryQuestion) {
  JsonWriter json;
  WriteQuestions(json);
  const std::string text = json.Take();
  JsonParser parser;
  const auto root = parser.Parse(text);
  ASSERT_TRUE(root.ok());
  size_t kinds = 0;
  for (const QuestionVerb& verb : QuestionVerbs()) kinds += verb.kinds.size();
  EXPECT_EQ(root->size(), kinds);
  EXPECT_THAT(text, HasSubstr(R"({"name":"limit","flag":"--limit","type":"integer","value":"N",)"
                              R"("unit":"traces","min":1,"max":10000,"choices":[],"default":"20",)"
                              R"("required":false,"repeatable":false,"case":"always",)"
                              R"("help":"at most N traces"})"));
}

}  // namespace
}  // namespace wf::answer
