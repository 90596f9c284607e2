#include "json/json_reader.h"

#include <gtest/gtest.h>

#include <cmath>

#include "json/json_splitter.h"
#include "json/json_writer.h"

namespace wf {
namespace {

TEST(JsonReader, EveryKindOfValue) {
  JsonParser parser;
  auto root = parser.Parse(
      R"( {"i":-9223372036854775808,"u":18446744073709551615,"d":2.5,"s":"a\u00e9\n","t":true,
      "f":false,"n":null,"a":[1,[],{"x":[2,3]},"last"],"o":{"k":"v","k":"second"},"text":"9223372036854775807"} )");
  ASSERT_TRUE(root.ok()) << root.error().message;
  EXPECT_EQ(root->Get("i").Int(), INT64_MIN);
  EXPECT_EQ(root->Get("u").Int(), std::nullopt);
  EXPECT_EQ(root->Get("u").UintOrText(), UINT64_MAX);
  EXPECT_EQ(root->Get("d").Number(), 2.5);
  EXPECT_EQ(root->Get("d").Int(), std::nullopt);
  EXPECT_EQ(root->Get("s").String(), "a\xC3\xA9\n");
  EXPECT_TRUE(root->Get("t").Bool());
  EXPECT_FALSE(root->Get("f").Bool());
  EXPECT_TRUE(root->Get("f").IsBool());
  EXPECT_TRUE(root->Get("n").IsNull());
  EXPECT_TRUE(root->Get("nowhere").missing());
  EXPECT_TRUE(root->Get("nowhere").Get("deeper").missing());
  EXPECT_EQ(root->Get("text").Int(), std::nullopt);
  EXPECT_EQ(root->Get("text").IntOrText(), INT64_MAX);
  EXPECT_EQ(root->Get("o").Get("k").String(), "v");
  EXPECT_EQ(root->Get("other", "o").size(), 2u);

  std::string kinds;
  for (const JsonValue element : root->Get("a").Elements())
    kinds += std::to_string(static_cast<int>(element.type()));
  EXPECT_EQ(kinds, "3786");
  std::string keys;
  for (const auto& [key, value] : root->Members()) keys.append(key).append(",");
  EXPECT_EQ(keys, "i,u,d,s,t,f,n,a,o,text,");
  for (const JsonValue element : root->Get("o").Elements())
    FAIL() << static_cast<int>(element.type());
}

TEST(JsonReader, NumbersGivenAsTexts) {
  JsonParser parser;
  auto root = parser.Parse(R"(["12","-3","1x",""," 1","NaN","-Infinity","1.5",1e3,1e300,3.0])");
  ASSERT_TRUE(root.ok());
  std::vector<JsonValue> v;
  for (const JsonValue element : root->Elements()) v.push_back(element);
  EXPECT_EQ(v[0].IntOrText(), 12);
  EXPECT_EQ(v[1].IntOrText(), -3);
  EXPECT_EQ(v[1].UintOrText(), std::nullopt);
  EXPECT_EQ(v[2].IntOrText(), std::nullopt);
  EXPECT_EQ(v[3].IntOrText(), std::nullopt);
  EXPECT_EQ(v[4].IntOrText(), std::nullopt);
  EXPECT_TRUE(std::isnan(*v[5].NumberOrText()));
  EXPECT_LT(*v[6].NumberOrText(), 0);
  EXPECT_EQ(v[7].NumberOrText(), 1.5);
  EXPECT_EQ(v[8].Int(), 1000);
  EXPECT_EQ(v[9].Int(), std::nullopt);
  EXPECT_EQ(v[10].Int(), 3);
}

struct BadText {
  const char* text;
  const char* message;
};

TEST(JsonReader, FaultsNameTheirPlace) {
  const BadText kBad[] = {
      {"", "JSON: the text is empty at byte 0 (line 1)"},
      {"{\"a\":1", "JSON: the text ends inside an object at byte 6 (line 1)"},
      {"[1,2", "JSON: the text ends inside an array at byte 4 (line 1)"},
      {"{\"a\":}", "JSON: expected a value at byte 5 (line 1)"},
      {"{\"a\" 1}", "JSON: expected ':' behind a key at byte 5 (line 1)"},
      {"{a:1}", "JSON: expected a key in quotes at byte 1 (line 1)"},
      {"[1 2]", "JSON: expected ',' or ']' at byte 3 (line 1)"},
      {"[1,]", "JSON: expected a value at byte 3 (line 1)"},
      {"[\n\n  01]", "JSON: a malformed number at byte 5 (line 3)"},
      {"[1.]", "JSON: a malformed number at byte 1 (line 1)"},
      {"[18446744073709551616]", "JSON: an integer beyond 64 bits at byte 1 (line 1)"},
      {"[-9223372036854775809]", "JSON: an integer beyond 64 bits at byte 1 (line 1)"},
      {"[1e999]", "JSON: a number beyond the range of doubles at byte 1 (line 1)"},
      {"[\"abc", "JSON: a text that does not end at byte 1 (line 1)"},
      {"[\"a\\q\"]", "JSON: unknown escape inside a text at byte 3 (line 1)"},
      {"[\"\\ud800\"]", "JSON: half of a surrogate pair at byte 2 (line 1)"},
      {"[\"\\u12x4\"]", "JSON: '\\u' without four hexadecimal digits at byte 2 (line 1)"},
      {"[\"a\xff\"]", "JSON: bytes that are not UTF-8 at byte 3 (line 1)"},
      {"[\"a\tb\"]", "JSON: control character inside a text at byte 3 (line 1)"},
      {"{} x", "JSON: text behind the end of the JSON value at byte 3 (line 1)"},
      {"nul", "JSON: expected a value at byte 0 (line 1)"},
  };
  JsonParser parser;
  for (const BadText& bad : kBad) {
    const auto root = parser.Parse(bad.text);
    ASSERT_FALSE(root.ok()) << bad.text;
    EXPECT_EQ(root.error().message, bad.message) << bad.text;
    EXPECT_EQ(root.error().code, ErrorCode::kBadInput);
  }
  EXPECT_TRUE(parser.Parse("[1]").ok());  // an error leaves the parser usable
}

TEST(JsonReader, NestingIsLimited) {
  JsonParser parser;
  const std::string fine = std::string(100, '[') + std::string(100, ']');
  EXPECT_TRUE(parser.Parse(fine).ok());
  const std::string deep = std::string(200'000, '[');
  const auto root = parser.Parse(deep);
  ASSERT_FALSE(root.ok());
  EXPECT_EQ(root.error().message, "JSON: nested deeper than 128 levels at byte 128 (line 1)");
}

TEST(JsonReader, RepairsUtf8WhenAsked) {
  JsonParser parser;
  JsonLimits limits;
  limits.repair_utf8 = true;
  auto root = parser.Parse("[\"a\xff\"]", limits);
  ASSERT_TRUE(root.ok());
  EXPECT_TRUE(parser.repaired_utf8());
  EXPECT_EQ((*root->Elements().begin()).String(), "a\xEF\xBF\xBD");

  // A text cut in the middle of a character, as JavaScript writes it.
  root = parser.Parse(R"(["\ud83dx \\ud83d \ud83d\ude00 \udc00 \u00e9\ud83d"])", limits);
  ASSERT_TRUE(root.ok()) << root.error().message;
  EXPECT_TRUE(parser.repaired_utf8());
  EXPECT_EQ((*root->Elements().begin()).String(),
            "\xEF\xBF\xBDx \\ud83d \xF0\x9F\x98\x80 \xEF\xBF\xBD \xC3\xA9\xEF\xBF\xBD");
  EXPECT_FALSE(parser.Parse(R"(["\ud83d", "\q"])", limits).ok());
}

TEST(JsonReader, ReadsWhatTheWriterWrites) {
  JsonWriter writer;
  writer.BeginObject().Field("min", int64_t{INT64_MIN}).Field("max", uint64_t{UINT64_MAX});
  writer.Key("d").Double(0.1).Field("s", "quote\" \\ \n \x01").EndObject();
  JsonParser parser;
  auto root = parser.Parse(writer.Take());
  ASSERT_TRUE(root.ok());
  EXPECT_EQ(root->Get("min").Int(), INT64_MIN);
  EXPECT_EQ(root->Get("max").UintOrText(), UINT64_MAX);
  EXPECT_EQ(root->Get("d").Number(), 0.1);
  EXPECT_EQ(root->Get("s").String(), "quote\" \\ \n \x01");
}

std::string Pieces(JsonSplitter splitter) {
  std::string out;
  std::string_view piece;
  while (splitter.Next(piece)) out.append("<").append(piece).append(">");
  if (splitter.malformed()) out.append("!");
  return out;
}

TEST(JsonSplitter, SequencesAndArrays) {
  EXPECT_EQ(
      Pieces(JsonSplitter::Sequence("{\"a\":\"}\"}\n{\n \"b\":[1,2]\n}{\"c\":\"\\\"{\"}\r\n\n")),
      "<{\"a\":\"}\"}><{\n \"b\":[1,2]\n}><{\"c\":\"\\\"{\"}>");
  EXPECT_EQ(Pieces(JsonSplitter::Sequence(" 1 \"x y\" null")), "<1><\"x y\"><null>");
  EXPECT_EQ(Pieces(JsonSplitter::Sequence("{\"cut\":")), "<{\"cut\":>");
  EXPECT_EQ(Pieces(JsonSplitter::Array(" [ {\"a\":[1]} ,2, \"]\" ] tail", 1)),
            "<{\"a\":[1]}><2><\"]\">");
  EXPECT_EQ(Pieces(JsonSplitter::Array("[]", 0)), "");
  EXPECT_EQ(Pieces(JsonSplitter::Array("[1 2]", 0)), "<1>!");
  EXPECT_EQ(Pieces(JsonSplitter::Array("[1,,2]", 0)), "<1>!");
  EXPECT_EQ(Pieces(JsonSplitter::Array("[1,]", 0)), "<1>!");
  EXPECT_EQ(Pieces(JsonSplitter::Array("[1", 0)), "<1>!");
}

}  // namespace
}  // namespace wf
