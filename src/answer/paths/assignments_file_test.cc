#include "answer/paths/assignments_file.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>
#include <sstream>

namespace wf::answer {
namespace {

std::string Written(std::vector<paths::AssignmentRow> rows, PlaceForm form, bool with_others) {
  const std::string path =
      ::testing::TempDir() + "assignments-" + std::to_string(::getpid()) + ".jsonl";
  const Status status = WriteAssignments(rows, form, with_others, path);
  EXPECT_TRUE(status.ok());
  std::ifstream in(path);
  std::stringstream text;
  text << in.rdbuf();
  ::unlink(path.c_str());
  return text.str();
}

paths::AssignmentRow Row(Place call, Place parent, float p) {
  paths::AssignmentRow row;
  row.call = call;
  row.parent = parent;
  row.p = p;
  return row;
}

TEST(AssignmentsFile, RowsAreInLineOrder) {
  paths::AssignmentRow lost = Row({1, 9}, {}, 1);
  lost.unpaired = true;
  EXPECT_EQ(Written({Row({1, 3}, {1, 1}, 0.8f), lost, Row({1, 1}, {}, 1)}, PlaceForm::kLine, false),
            "{\"call\":1,\"parent\":null,\"p\":1}\n"
            "{\"call\":3,\"parent\":1,\"p\":0.8}\n"
            "{\"call\":9,\"parent\":null,\"p\":1,\"unpaired\":true}\n");
}

TEST(AssignmentsFile, SeveralInputsAreNamed) {
  paths::AssignmentRow row = Row({2, 3}, {1, 7}, 0.75f);
  row.others = {{{1, 5}, 0.25}, {{}, 0}};
  EXPECT_EQ(Written({row}, PlaceForm::kInputAndLine, true),
            "{\"call\":\"2:3\",\"parent\":\"1:7\",\"p\":0.75,\"others\":"
            "[{\"parent\":\"1:5\",\"p\":0.25},{\"parent\":null,\"p\":0}]}\n");
}

TEST(AssignmentsFile, TruthIsReadBack) {
  const auto rows = ParseTruth(
      "{\"call\":3,\"parent\":1,\"also\":5}\n\n{\"call\":1,\"parent\":null}\n"
      "{\"call\":\"2:4\",\"parent\":\"1:3\"}\n",
      "truth");
  ASSERT_TRUE(rows.ok());
  const std::vector<paths::ParentRow>& read = rows.value();
  ASSERT_EQ(read.size(), 3u);
  EXPECT_EQ(read[0].call, (Place{1, 1}));
  EXPECT_EQ(read[0].parent.line, 0u);
  EXPECT_EQ(read[1].call, (Place{1, 3}));
  EXPECT_EQ(read[1].parent, (Place{1, 1}));
  EXPECT_EQ(read[2].call, (Place{2, 4}));
}

TEST(AssignmentsFile, BadTruthIsRefusedWithItsPlace) {
  for (const char* text : {R"({"call":1})", R"({"parent":null})", R"({"call":0,"parent":null})",
                           R"({"call":1,"parent":"x"})", "[1]", "{"}) {
    const auto rows = ParseTruth(std::string("{\"call\":7,\"parent\":null}\n") + text, "truth");
    ASSERT_FALSE(rows.ok()) << text;
    EXPECT_EQ(rows.error().code, ErrorCode::kBadInput);
    EXPECT_EQ(rows.error().message.rfind("truth:2: ", 0), 0u) << rows.error().message;
  }
  EXPECT_FALSE(ParseTruth("{\"call\":1,\"parent\":null}\n{\"call\":1,\"parent\":2}", "t").ok());
}

}  // namespace
}  // namespace wf::answer
