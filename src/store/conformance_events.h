// Conformance: events come back as they were given, once, to their tenant only, after any restart.
#pragma once

#include <map>

#include "store/conformance.h"

namespace wf::store {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

// A batch that uses every column and every value type.
inline EventBatch RichBatch(TraceId trace) {
  BatchBuilder b;
  b.Process("shop", "node-1", {{"service.instance.id", "shop-1"}, {"zone", "eu"}});
  EventBatch& e = b.batch();
  e.scopes[0] = {e.strings.Intern("lib"), e.strings.Intern("2.1"), e.ArenaSize(), e.ArenaSize()};
  b.Span(trace, 1, 0, kT0, 100, "root").Kind(SpanKind::kServer).Status(SpanStatus::kError);
  b.Text("text", "value").Int("int", -42).Int("max", INT64_MAX).Bool("yes", true).Bool("no", false);
  b.Double("half", 0.5)
      .Double("nan", std::numeric_limits<double>::quiet_NaN())
      .Text("hex", "00ffab0123456789");
  b.Packed("bytes", ValueType::kBytes, std::string("\x00\xff\x01", 3))
      .Text("empty", "")
      .Packed("null", ValueType::kString, "");
  std::string list;
  PutInt(1, list), PutString("two", list), PutBool(true, list);
  b.Packed("list", ValueType::kArray, list);
  std::string map;
  PutVarint(1, map), map += "k", PutInt(7, map);
  b.Packed("map", ValueType::kMap, map);
  b.Text("again", "1").Text("again", "2");
  e.flags.back() = 0x101;
  e.status_message.back() = e.strings.Intern("it broke");
  e.tracestate.back() = e.strings.Intern("a=b");
  std::string attrs;
  PutVarint(e.strings.Intern("point.key"), attrs), PutInt(9, attrs);
  PutPoint({kT0 + 5, e.strings.Intern("retry"), attrs}, e.bytes);
  PutPoint({kT0 + 6, e.strings.Intern("retry"), {}}, e.bytes);
  e.EndPoints();
  PutLink({{1, 2}, {3}, 2, 1, e.strings.Intern("x=y"), attrs}, e.bytes);
  e.EndLinks();
  // An end before its start, an unknown parent, no end; an event of another type with a sequence number.
  b.Span(trace, 2, 1, kT0 + 10, -20, "backwards");
  b.Span(trace, 3, 77, kT0 + 20, 5, "orphan");
  b.Span(trace, 4, 1, kT0 + 30, 0, "endless");
  e.marks.back() = kHasStart;
  e.end_ns.back() = 0;
  b.Span(trace, 5, 4, INT64_MAX, 0, "far");
  e.end_ns.back() = INT64_MIN;
  b.Span(trace, 6, 1, kT0 + 40, 0, "put");
  e.type.back() = EventType::kQueuePut;
  e.SetSequence(12);
  e.SetSource(Source::kInferred, 0.25f);
  return b.Take();
}

TEST_P(StoreConformance, GivesBackEveryColumnAndType) {
  const EventBatch given = RichBatch(T(1));
  Append(given);
  std::vector<std::pair<uint64_t, Hash128>> want = Content(given);
  for (const char* when : {"pending", "flushed", "reopened"}) {
    SCOPED_TRACE(when);
    if (when == std::string("flushed")) Flush();
    if (when == std::string("reopened")) Reopen();
    const EventBatch got = Read(T(1));
    ASSERT_EQ(got.size(), given.size());
    EXPECT_THAT(Content(got), ::testing::UnorderedElementsAreArray(want));
    for (size_t i = 1; i < got.size(); ++i) EXPECT_LE(got.start_ns[i - 1], got.start_ns[i]);
    EXPECT_GT(got.received_of(0), 0);
  }
}

TEST_P(StoreConformance, SurvivesReopeningWithoutFlush) {
  Append(BatchBuilder().Span(T(1), 1, 0, kT0, 10).Take());
  Reopen();
  EXPECT_EQ(Read(T(1)).size(), 1u);
  EXPECT_EQ(ReadStatus().spans, 1);
}

TEST_P(StoreConformance, AListenerSeesEveryDurableBatchBeforeItsSender) {
  std::vector<size_t> heard;  // sizes; the store calls from one thread at a time
  store_->Listen([&](const std::shared_ptr<const EventBatch>& batch) {
    EXPECT_GT(batch->received_ns, 0);
    heard.push_back(batch->size());
  });
  AppendOnce(BatchBuilder().Span(T(1), 1, 0, kT0, 10).Take());
  EXPECT_THAT(heard, ElementsAre(1));
  AppendOnce(BatchBuilder().Span(T(1), 2, 1, kT0, 10).Span(T(2), 3, 0, kT0, 10).Take());
  EXPECT_THAT(heard, ElementsAre(1, 2));
  store_->Listen({});
  AppendOnce(BatchBuilder().Span(T(1), 4, 1, kT0, 10).Take());
  EXPECT_THAT(heard, ElementsAre(1, 2));
}

TEST_P(StoreConformance, UnknownTraceIsEmpty) {
  EXPECT_TRUE(Read(T(404)).empty());
  Append(BatchBuilder().Span(T(1), 1, 0, kT0, 10).Take());
  Flush();
  EXPECT_TRUE(Read(T(404)).empty());
}

TEST_P(StoreConformance, TenantsNeverMix) {
  for (int round = 0; round < 2; ++round) {
    for (const char* tenant : {"a", "b"}) {
      BatchBuilder b(tenant);
      b.Process(std::string("service-") + tenant, "host")
          .Span(T(1), 1, 0, kT0, 10, std::string("op-") + tenant);
      b.Text(std::string("key-") + tenant, "v");
      Append(b.Take());
      ASSERT_TRUE(store_->AppendMessages(tenant, {{1, "call", tenant, "x", "1"}}).ok());
      ASSERT_TRUE(store_->PutAttachment(tenant, {T(1), tenant, {"c"}}).ok());
    }
    if (round == 0) Flush();
  }
  for (const char* tenant : {"a", "b"}) {
    const std::string name = tenant;
    const EventBatch got = Read(T(1), name);
    ASSERT_EQ(got.size(), 1u);
    EXPECT_EQ(got.tenant, name);
    EXPECT_EQ(got.str(got.name[0]), "op-" + name);
    EXPECT_EQ(ReadStatus(name).spans, 1);
    EXPECT_EQ(ReadStatus(name).traces, 1);
    EXPECT_THAT(*store_->Services(name), ElementsAre("service-" + name));
    EXPECT_THAT(*store_->AttributeKeys(name, "key", 10), ElementsAre("key-" + name));
    EXPECT_EQ(Search({}, name).traces.size(), 1u);
    EXPECT_EQ((*store_->ReadMessages(name, {}))[0].sender, name);
    EXPECT_EQ((*store_->ReadAttachments(name, T(1)))[0].kind, name);
  }
  EXPECT_TRUE(Read(T(1), "c").empty());
  EXPECT_EQ(ReadStatus("c").spans, 0);
  EXPECT_TRUE(store_->Services("c")->empty());
}

// Who is listed is kept house for, and is charged for what is here (stored-bytes of a tenant).
TEST_P(StoreConformance, EveryTenantOfWhomThereIsAnythingIsListed) {
  const auto tenants = [&] {
    auto read = store_->ReadTenants();
    EXPECT_TRUE(read.ok()) << (read.ok() ? "" : read.error().message);
    return read.ok() ? *read : std::vector<TenantUse>();
  };
  EXPECT_THAT(tenants(), IsEmpty());
  BatchBuilder many("many"), few("few");
  for (uint64_t i = 1; i <= 300; ++i)
    many.Span(T(i), i, 0, kT0, 10).Text("text", std::to_string(MixBits(i)));
  few.Span(T(1), 1, 0, kT0, 10);
  Append(many.Take());
  Append(few.Take());
  ASSERT_TRUE(store_->AppendMessages("messages", {{1, "call", "a", "b", "1"}}).ok());
  ASSERT_TRUE(store_->PutAttachment("files", {T(1), "recording", {"c"}}).ok());
  ASSERT_TRUE(store_->PutDocument("texts", "policy", "p", "x").ok());
  for (const char* when : {"appended", "flushed", "reopened"}) {
    SCOPED_TRACE(when);
    if (when == std::string("flushed")) Flush();
    if (when == std::string("reopened")) Reopen();
    std::map<std::string, TenantUse> by_name;
    std::vector<std::string> names;
    for (const TenantUse& use : tenants()) {
      names.push_back(use.tenant);
      by_name[use.tenant] = use;
    }
    EXPECT_THAT(names, ElementsAre("few", "files", "many", "messages", "texts")) << "by name";
    EXPECT_GE(by_name["many"].events, 300);
    EXPECT_LE(by_name["many"].events, 600) << "doubles may count twice";
    EXPECT_GE(by_name["few"].events, 1);
    EXPECT_LE(by_name["few"].events, 2);
    EXPECT_GT(by_name["few"].bytes, 0);
    EXPECT_GT(by_name["many"].bytes, 5 * by_name["few"].bytes);
    EXPECT_EQ(by_name["texts"].events, 0);
  }
}

TEST_P(StoreConformance, SeveralTracesAtOnceComeGrouped) {
  BatchBuilder b, other("other");
  for (uint64_t n = 1; n <= 5; ++n) {
    b.Span(T(n), 1, 0, kT0 + 5, 10).Span(T(n), 2, 1, kT0, 10);
    other.Span(T(n), 9, 0, kT0, 10);
  }
  Append(b.Take());
  Append(other.Take());
  Flush();
  AppendOnce(BatchBuilder().Span(T(2), 3, 1, kT0 + 2, 10).Take());
  const auto read = store_->ReadTraces("default", {T(2), T(404), T(4)});
  ASSERT_TRUE(read.ok()) << read.error().message;
  std::map<uint64_t, std::vector<uint64_t>> ids;
  std::vector<uint64_t> groups;
  for (size_t i = 0; i < read->size(); ++i) {
    const uint64_t trace = read->trace_id(i).lo;
    if (groups.empty() || groups.back() != trace) groups.push_back(trace);
    ids[trace].push_back(read->id1[i]);
  }
  EXPECT_THAT(groups, testing::UnorderedElementsAre(2u, 4u)) << "whole traces, one after the other";
  EXPECT_THAT(ids[2], ElementsAre(2u, 3u, 1u)) << "in the order of their starts";
  EXPECT_THAT(ids[4], ElementsAre(2u, 1u));
  EXPECT_TRUE(store_->ReadTraces("default", {})->empty());
}

TEST_P(StoreConformance, DoublesAcrossFlushesCountOnce) {
  const EventBatch batch = RichBatch(T(1));
  for (int i = 0; i < 3; ++i) {
    Append(batch);
    Flush();
  }
  Append(batch);
  EXPECT_EQ(Read(T(1)).size(), batch.size());
  EXPECT_EQ(ReadStatus().events, static_cast<int64_t>(batch.size()));
  EXPECT_EQ(ReadStatus().spans, static_cast<int64_t>(batch.size()) - 1);
  EXPECT_EQ(ReadStatus().traces, 1);
  Flush();
  EXPECT_EQ(ReadStatus().events, static_cast<int64_t>(batch.size()));
}

TEST_P(StoreConformance, OneIdWithDifferentContentIsTwoEvents) {
  Append(BatchBuilder().Span(T(1), 1, 0, kT0, 10, "client").Take());
  Flush();
  Append(BatchBuilder().Span(T(1), 1, 0, kT0, 10, "server").Take());
  Append(BatchBuilder().Span(T(1), 1, 0, kT0, 10, "client").Text("k", "v").Take());
  EXPECT_EQ(Read(T(1)).size(), 3u);
  Flush();
  EXPECT_EQ(Read(T(1)).size(), 3u);
  EXPECT_EQ(ReadStatus().spans, 3);
}

TEST_P(StoreConformance, LateSpansJoinTheirTrace) {
  Append(BatchBuilder().Span(T(1), 2, 1, kT0 + 50, 10, "child").Span(T(2), 9, 0, kT0, 1).Take());
  Flush();
  TraceSummary before = Search({}).traces.at(0);
  EXPECT_EQ(before.service, "unknown");
  EXPECT_EQ(before.name, "missing");
  EXPECT_FALSE(before.complete);
  Append(BatchBuilder().Span(T(1), 1, 0, kT0 + 20, 100, "root").Take());
  for (int round = 0; round < 3; ++round) {
    const EventBatch got = Read(T(1));
    ASSERT_EQ(got.size(), 2u);
    EXPECT_EQ(got.id1[0], 1u);
    EXPECT_EQ(got.id2[1], 1u);
    const TraceSummary after = Search({}).traces.at(0);
    EXPECT_EQ(after.trace_id, T(1));
    EXPECT_EQ(after.name, "root");
    EXPECT_EQ(after.start_ns, kT0 + 20);
    EXPECT_EQ(after.duration_ns, 100);
    EXPECT_EQ(after.spans, 2);
    EXPECT_TRUE(after.complete);
    EXPECT_EQ(ReadStatus().traces, 2);
    if (round == 0) Flush();
    if (round == 1) Reopen();
  }
}

TEST_P(StoreConformance, TenThousandAttributes) {
  BatchBuilder b;
  b.Span(T(1), 1, 0, kT0, 10);
  for (int i = 0; i < 10'000; ++i) b.Text("key." + std::to_string(i), "value " + std::to_string(i));
  const EventBatch given = b.Take();
  Append(given);
  Flush();
  EXPECT_EQ(Content(Read(T(1))), Content(given));
  TraceQuery query;
  query.attributes = {{"key.9999", "value 9999"}};
  EXPECT_THAT(Found(query), ElementsAre(1));
  query.attributes = {{"key.9999", "value 9998"}};
  EXPECT_THAT(Found(query), IsEmpty());
  EXPECT_EQ(store_->AttributeKeys("default", "key.", 20'000)->size(), 10'000u);
}

TEST_P(StoreConformance, ManyDifferentAttributeLists) {
  // More layouts than a segment keeps: the rest must still come back and be found.
  BatchBuilder b;
  for (uint64_t i = 0; i < 6000; ++i)
    b.Span(T(i), i + 1, 0, kT0 + static_cast<Nanos>(i), 10)
        .Text("k" + std::to_string(i), "v")
        .Int("n", 1);
  Append(b.Take());
  Flush();
  for (uint64_t i : {0u, 4000u, 4096u, 5999u}) {
    TraceQuery query;
    query.attributes = {{"k" + std::to_string(i), "v"}};
    EXPECT_THAT(Found(query), ElementsAre(i));
    EXPECT_EQ(Read(T(i)).size(), 1u);
  }
  EXPECT_EQ(ReadStatus().traces, 6000);
}

TEST_P(StoreConformance, OddTexts) {
  const std::string odd[] = {"it's",
                             "\"quoted\"",
                             "semi;colon -- comment",
                             std::string("nul\0inside", 10),
                             "\xff\xfe bad utf-8",
                             "\\x41",
                             "%_",
                             "",
                             "привет",
                             std::string(100'000, 'x')};
  uint64_t n = 0;
  for (const std::string& text : odd) {
    ++n;
    BatchBuilder b;
    b.Process(text, text, {{text, text}})
        .Span(T(n), n, 0, kT0 + static_cast<Nanos>(n), 10, text)
        .Text(text, text);
    Append(b.Take());
  }
  for (int round = 0; round < 2; ++round) {
    n = 0;
    for (const std::string& text : odd) {
      ++n;
      SCOPED_TRACE(text.substr(0, 30));
      const EventBatch got = Read(T(n));
      ASSERT_EQ(got.size(), 1u);
      EXPECT_EQ(got.str(got.name[0]), text);
      TraceQuery query;
      query.service = text;
      EXPECT_THAT(Found(query), ElementsAre(n));
      query.operation = text;
      query.attributes = {{text, text}};
      EXPECT_THAT(Found(query), ElementsAre(n));
      EXPECT_EQ(store_->Operations("default", text)->size(), 1u);
      EXPECT_THAT(*store_->AttributeValues("default", text, text, 5), ElementsAre(text));
    }
    Flush();
  }
}

TEST_P(StoreConformance, ScanGivesEachEventOnceAndWholeTraces) {
  std::mt19937_64 random(7);
  std::multiset<std::pair<uint64_t, uint64_t>> want;
  for (int part = 0; part < 4; ++part) {
    BatchBuilder b;
    for (uint64_t t = 0; t < 60; ++t) {
      // Some traces have rows in every part, some in one.
      if (t % 5 != 0 && static_cast<int>(t % 4) != part) continue;
      for (uint64_t s = 0; s < 5; ++s) {
        const uint64_t id = static_cast<uint64_t>(part) * 100 + s + 1;
        b.Span(T(t), id, s == 0 ? 0 : id - 1, kT0 + static_cast<Nanos>(random() % 1000), 10);
        want.insert({t, id});
      }
    }
    Append(b.Take());
    if (part < 3) Flush();
  }
  for (size_t rows : {1u, 7u, 100000u}) {
    std::multiset<std::pair<uint64_t, uint64_t>> got;
    std::set<uint64_t> finished;
    ScanOptions options;
    options.batch_rows = rows;
    const Status status = store_->Scan("default", options, [&](EventBatch batch) {
      std::set<uint64_t> here;
      for (size_t i = 0; i < batch.size(); ++i) {
        got.insert({batch.trace_lo[i], batch.id1[i]});
        here.insert(batch.trace_lo[i]);
        EXPECT_EQ(finished.count(batch.trace_lo[i]), 0u) << "trace split over two batches";
      }
      finished.insert(here.begin(), here.end());
      return true;
    });
    ASSERT_TRUE(status.ok());
    EXPECT_EQ(got, want);
  }
  int calls = 0;
  ScanOptions one;
  one.batch_rows = 1;
  ASSERT_TRUE(store_->Scan("default", one, [&](EventBatch) { return ++calls < 3; }).ok());
  EXPECT_EQ(calls, 3);
  ScanOptions some;
  some.time = {kT0 + 100, kT0 + 200};
  ASSERT_TRUE(store_
                  ->Scan("default", some,
                         [&](EventBatch batch) {
                           for (Nanos start : batch.start_ns)
                             EXPECT_TRUE(start >= kT0 + 100 && start < kT0 + 200);
                           return true;
                         })
                  .ok());
}

// A scan of columns may give more than it was asked for, never less: every row and attribute of the selection.
TEST_P(StoreConformance, ScanOfASelectionHasAllOfIt) {
  std::mt19937_64 random(11);
  const std::vector<std::string> names = {"buy", "load", "idle", "pay"};
  std::set<std::pair<uint64_t, uint64_t>> want, overlapping;
  const TimeRange time{kT0 + 400, kT0 + 600};
  for (int part = 0; part < 3; ++part) {
    BatchBuilder b;
    for (uint64_t t = 0; t < 40; ++t) {
      if (t % 5 != 0 && static_cast<int>(t % 3) != part) continue;
      for (uint64_t s = 0; s < 4; ++s) {
        const uint64_t id = static_cast<uint64_t>(part) * 100 + s + 1;
        const std::string& name = names[random() % names.size()];
        const Nanos start = kT0 + static_cast<Nanos>(random() % 1000);
        const auto duration = static_cast<Nanos>(random() % 200);
        b.Span(T(t), id, s == 0 ? 0 : id - 1, start, duration, name);
        b.Text("user", "u" + std::to_string(id)).Int("size", static_cast<int64_t>(id));
        for (uint64_t n = 0; n < random() % 12; ++n) b.Text("k" + std::to_string(n), "v");
        bool wanted = name == "buy";
        if (random() % 6 == 0) {
          EventBatch& batch = b.batch();
          PackedPoint point;
          point.time_ns = start;
          point.name = batch.strings.Intern("miss");
          PutPoint(point, batch.bytes);
          batch.EndPoints();
          wanted = true;
        }
        if (random() % 10 == 0) {
          b.batch().marks.back() = kHasStart;
          b.batch().end_ns.back() = 0;
          wanted = true;
          overlapping.insert({t, id});
        } else if (wanted && start < time.until && start + duration >= time.from) {
          overlapping.insert({t, id});
        }
        if (wanted) want.insert({t, id});
      }
    }
    Append(b.Take());
    if (part < 2) Flush();
  }
  for (const bool narrow : {false, true}) {
    ScanOptions options;
    options.select = EventSelection{{"buy", "miss", "nowhere"}, {"user", "size", "none"}, {}};
    if (narrow) options.select->overlaps = time;
    std::set<std::pair<uint64_t, uint64_t>> missing = narrow ? overlapping : want;
    const Status status = store_->Scan("default", options, [&](const EventBatch& batch) {
      for (size_t row = 0; row < batch.size(); ++row) {
        if (missing.erase({batch.trace_lo[row], batch.id1[row]}) == 0) continue;
        std::map<std::string, std::string> attributes;
        AttributeReader reader(batch.attrs(row));
        uint32_t key = 0;
        for (Value value; reader.Next(key, value);)
          attributes[std::string(batch.str(key))] = ValueText(value);
        EXPECT_EQ(attributes["user"], "u" + std::to_string(batch.id1[row]));
        EXPECT_EQ(attributes["size"], std::to_string(batch.id1[row]));
      }
      return true;
    });
    ASSERT_TRUE(status.ok()) << status.error().message;
    EXPECT_TRUE(missing.empty()) << missing.size() << " rows did not come";
  }
}

TEST_P(StoreConformance, MessagesAndAttachmentsAreKeptOnce) {
  const std::vector<Message> messages = {{5, "CALL", "a", "b", "1", "thread=7 conn=x"},
                                         {7, "RET", "b", "a", "1"},
                                         {5, "CALL", "a", "b", "1", "thread=7 conn=x"}};
  for (int i = 0; i < 2; ++i) {
    ASSERT_TRUE(store_->AppendMessages("default", messages).ok());
    ASSERT_TRUE(
        store_->PutAttachment("default", {T(1), "recording", {"one", std::string("\0two", 4), ""}})
            .ok());
    ASSERT_TRUE(store_->PutAttachment("default", {T(1), "capture", {}}).ok());
    Reopen();
  }
  EXPECT_THAT(*store_->ReadMessages("default", {}), ElementsAre(messages[0], messages[1]));
  EXPECT_THAT(*store_->ReadMessages("default", {6, 7}), IsEmpty());
  EXPECT_THAT(*store_->ReadMessages("default", {5, 6}), ElementsAre(messages[0]));
  const Hash128 first = HashOf(messages[0]), second = HashOf(messages[1]);
  EXPECT_EQ(*store_->DigestMessages("default", {}),
            (MessagesDigest{2, {first.hi ^ second.hi, first.lo ^ second.lo}}));
  EXPECT_EQ(*store_->DigestMessages("default", {5, 6}), (MessagesDigest{1, first}));
  EXPECT_EQ(*store_->DigestMessages("default", {6, 7}), MessagesDigest{});
  EXPECT_EQ(*store_->DigestMessages("other", {}), MessagesDigest{});
  const auto attachments = *store_->ReadAttachments("default", T(1));
  ASSERT_EQ(attachments.size(), 2u);
  EXPECT_EQ(attachments[0].kind, "capture");
  EXPECT_THAT(attachments[0].chunks, IsEmpty());
  EXPECT_THAT(attachments[1].chunks, ElementsAre("one", std::string("\0two", 4), ""));
  EXPECT_TRUE(store_->ReadAttachments("default", T(2))->empty());
  EXPECT_EQ(ReadStatus().messages, 2);
  EXPECT_EQ(ReadStatus().attachments, 2);
}

TEST_P(StoreConformance, ClocksReplaceThoseOfTheSameHostAndTime) {
  ASSERT_TRUE(
      store_
          ->WriteClocks("default",
                        {{"a", 0, 1, 1}, {"a", 100, 2, 1}, {"a", 200, 3, 1}, {"b", 0, 9, 9}})
          .ok());
  ASSERT_TRUE(store_->WriteClocks("default", {{"a", 50, 7, 2}, {"a", 150, 8, 2}}).ok());
  const auto offsets = [&](TimeRange time) {
    std::vector<std::pair<std::string, Nanos>> out;
    const auto clocks = store_->ReadClocks("default", time);
    for (const ClockOffset& c : *clocks) out.push_back({c.host, c.offset_ns});
    return out;
  };
  using P = std::pair<std::string, Nanos>;
  EXPECT_THAT(offsets({}), ElementsAre(P("a", 1), P("a", 7), P("a", 8), P("a", 3), P("b", 9)));
  // The one in force when the range begins belongs to it.
  EXPECT_THAT(offsets({60, 160}), ElementsAre(P("a", 7), P("a", 8), P("b", 9)));
  EXPECT_TRUE(store_->ReadClocks("other", {})->empty());
}

TEST_P(StoreConformance, ExchangesAreTheLeastDelaysBetweenHosts) {
  const Nanos window = kT0 / kClockWindow * kClockWindow;
  for (int round = 0; round < 2; ++round) {
    for (Nanos delay : {30, 20}) {
      const uint64_t n = static_cast<uint64_t>(delay);
      BatchBuilder b;
      b.Process("front", "a").Span(T(n), 1, 0, window + 100, 1000, "call").Kind(SpanKind::kClient);
      b.Span(T(n), 5, 1, window + 100, 10, "send").Kind(SpanKind::kProducer);
      b.Process("back", "b")
          .Span(T(n), 2, 1, window + 100 + delay, 900, "handle")
          .Kind(SpanKind::kServer);
      b.Span(T(n), 6, 5, window + 150 + delay, 10, "receive").Kind(SpanKind::kConsumer);
      b.Process("near", "a").Span(T(n), 3, 1, window + 110, 5, "handle").Kind(SpanKind::kServer);
      Append(b.Take());
    }
    const auto exchanges = *store_->ReadExchanges("default", {});
    ASSERT_EQ(exchanges.size(), 2u);
    EXPECT_EQ(exchanges[0].from_host, "a");
    EXPECT_EQ(exchanges[0].to_host, "b");
    EXPECT_EQ(exchanges[0].window_ns, window);
    EXPECT_EQ(exchanges[0].least_ns, 20);
    EXPECT_EQ(exchanges[1].from_host, "b");
    EXPECT_EQ(exchanges[1].least_ns, 1000 - 900 - 30);
    Flush();
  }
  EXPECT_TRUE(store_->ReadExchanges("default", {window + kClockWindow, INT64_MAX})->empty());
}

TEST_P(StoreConformance, RetentionByAge) {
  const Nanos now = Now();
  Append(BatchBuilder().Received(now - 10 * kDay).Span(T(1), 1, 0, kT0, 10).Take());
  Flush();
  ASSERT_TRUE(store_->Retain({7 * kDay, std::nullopt}).ok());
  EXPECT_TRUE(Read(T(1)).empty());
  Append(BatchBuilder().Received(now - 5 * kDay).Span(T(2), 1, 0, kT0 - 30 * kDay, 10).Take());
  Flush();
  ASSERT_TRUE(store_->Retain({7 * kDay, std::nullopt}).ok());
  EXPECT_EQ(Read(T(2)).size(), 1u) << "age counts from receipt, not from the span's time";
  EXPECT_EQ(ReadStatus().spans, 1);
  Reopen();
  EXPECT_TRUE(Read(T(1)).empty());
  EXPECT_EQ(Read(T(2)).size(), 1u);
}

TEST_P(StoreConformance, RetentionByBytesShrinksTheDirectory) {
  std::mt19937_64 random(1);
  constexpr int64_t kLimit = 12 << 20;
  for (uint64_t round = 0; round < 12; ++round) {
    BatchBuilder b;
    b.Process("service", "host");
    for (uint64_t i = 0; i < 12'000; ++i) {
      std::string text(120, ' ');
      for (char& c : text) c = static_cast<char>('a' + random() % 26);
      b.Span(T(round * 100'000 + i), i + 1, 0, kT0 + static_cast<Nanos>(round), 10)
          .Text("text", text);
    }
    AppendOnce(b.Take());
    Flush();
    ASSERT_TRUE(store_->Retain({std::nullopt, kLimit}).ok());
    EXPECT_LE(factory_->DiskBytes(), kLimit + (4 << 20)) << "round " << round;
  }
  EXPECT_TRUE(Read(T(0)).empty());
  EXPECT_EQ(Read(T(11 * 100'000)).size(), 1u) << "the newest is kept";
  EXPECT_GT(ReadStatus().counters["rows_retired"], 0);
}

}  // namespace wf::store
