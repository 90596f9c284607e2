// Events that a weaver hands over: the test plays the weaver, and the kernel's programs.
#include "client/queries/kernel_tuples.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include <chrono>
#include <cstddef>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "advice/advice_test_support.h"
#include "advice/emitted_events.h"
#include "advice/handed_events.h"
#include "client/baggage/baggage_counts.h"
#include "client/queries/advice_runner.h"
#include "client/queries/handed_event.h"
#include "client/queries/query_report.h"
#include "client/queries/thread_baggage.h"

namespace wherefore::client {
namespace {

using wf::advice::Column;
using wf::advice::HandedThread;
using wf::advice::Keep;
using wf::advice::MakeProgram;
using wf::advice::Observe;
using wf::advice::Pack;
using wf::advice::Value;

constexpr uint32_t kRecordBytes = 256, kRecords = 8, kThreads = 16;
constexpr size_t kThreadBytes = sizeof(HandedThread) + kRecordBytes * kRecords;
constexpr char kPlaces[] =
    R"([{"place":2,"tracepoint":"Order","string_bytes":16,"variables":[)"
    R"({"name":"amount","form":"integer","offset":64},{"name":"who","form":"string","offset":72},)"
    R"({"name":"kind","form":"text","offset":0,"text":"retail"}]}])";

uint64_t next_query = 0xFEED0000;

std::shared_ptr<const LiveQuery> PacksOrders(Keep keep = Keep::kAll, PackLimits limits = {}) {
  auto query = std::make_shared<LiveQuery>();
  Pack pack{0, keep, keep == Keep::kAll ? 0u : 1u, {{Column(0), Column(1), Column(2)}, {}}};
  query->program = MakeProgram({{{"Order"}, {Observe{{"amount", "who", "kind"}}, pack}}});
  query->program.query = ++next_query;
  query->limits = limits;
  return query;
}

bool AnyMemory(int) { return true; }
bool NoMemory(int) { return false; }

class Weaver {
 public:
  explicit Weaver(uint64_t query) : query_(query) {
    file_ = memfd_create("handed", MFD_CLOEXEC);
    EXPECT_EQ(ftruncate(file_, kThreadBytes * kThreads), 0);
    memory_ = static_cast<char*>(
        mmap(nullptr, kThreadBytes * kThreads, PROT_READ | PROT_WRITE, MAP_SHARED, file_, 0));
    listener_ = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    const std::string name = wf::advice::HandedSocketName(query);
    std::memcpy(address.sun_path + 1, name.data(), name.size());
    const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
    EXPECT_EQ(bind(listener_, reinterpret_cast<sockaddr*>(&address), length), 0);
    EXPECT_EQ(listen(listener_, 4), 0);
  }
  ~Weaver() {
    Leave();
    close(file_);
    munmap(memory_, kThreadBytes * kThreads);
  }

  std::string Greeting(uint32_t record_bytes = kRecordBytes, int version = 1) const {
    return "{\"version\":" + std::to_string(version) + ",\"query\":\"" + QueryIdText(query_) +
           "\",\"record_bytes\":" + std::to_string(record_bytes) +
           ",\"records\":" + std::to_string(kRecords) + ",\"threads\":" + std::to_string(kThreads) +
           "}";
  }
  // While `tuples` asks.
  void TakeIn(KernelTuples& tuples, const std::string& greeting, const std::string& places) {
    std::thread answer([&] {
      connection_ = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
      Say(greeting, file_);
      if (!places.empty()) Say(places, -1);
    });
    tuples.Connect();
    answer.join();
  }
  void Say(const std::string& text, int descriptor) const {
    iovec part{const_cast<char*>(text.data()), text.size()};
    alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    if (descriptor >= 0) {
      message.msg_control = control;
      message.msg_controllen = sizeof control;
      cmsghdr* const header = CMSG_FIRSTHDR(&message);
      header->cmsg_level = SOL_SOCKET;
      header->cmsg_type = SCM_RIGHTS;
      header->cmsg_len = CMSG_LEN(sizeof(int));
      std::memcpy(CMSG_DATA(header), &descriptor, sizeof descriptor);
    }
    sendmsg(connection_, &message, MSG_NOSIGNAL);
  }
  void Leave() {
    if (connection_ >= 0) close(connection_);
    if (listener_ >= 0) close(listener_);
    connection_ = listener_ = -1;
  }

  // As a program does on the thread that it runs on.
  void Order(int64_t amount, const std::string& who, uint64_t nulls = 0, uint32_t place = 2) {
    const auto thread = static_cast<uint64_t>(syscall(SYS_gettid));
    // The first place is as if it were another thread's; so may be the next, if their numbers end alike.
    HandedThread* own = nullptr;
    for (uint64_t i = 1; own == nullptr || (own->owner != 0 && own->owner != thread); ++i)
      own = reinterpret_cast<HandedThread*>(memory_ + kThreadBytes * ((thread + i) % kThreads));
    own->owner = thread;
    if (own->head - own->taken >= kRecords) {
      ++own->lost;
      return;
    }
    char* const record = reinterpret_cast<char*>(own + 1) + kRecordBytes * (own->head % kRecords);
    std::memset(record, 0, kRecordBytes);
    const int64_t time = 1'000 + static_cast<int64_t>(own->head);
    const uint64_t length = who.size();
    std::memcpy(record + wf::advice::kHandedTimeAt, &time, 8);
    std::memcpy(record + wf::advice::kHandedPlaceAt, &place, 4);
    std::memcpy(record + wf::advice::kHandedNullsAt, &nulls, 8);
    std::memcpy(record + 64, &amount, 8);
    std::memcpy(record + 72, &length, 8);
    std::memcpy(record + 80, who.data(), std::min<size_t>(who.size(), 16));
    ++own->head;
  }

 private:
  const uint64_t query_;
  int file_, listener_, connection_ = -1;
  char* memory_;
};

using Row = std::vector<Value>;

class KernelTuplesTest : public testing::Test {
 protected:
  void SetUp() override { AllowAdvice(); }

  void Map(const std::shared_ptr<const LiveQuery>& query, const std::string& places = kPlaces) {
    query_ = query;
    weaver_ = std::make_unique<Weaver>(query->program.query);
    tuples_.Want({query});
    weaver_->TakeIn(tuples_, weaver_->Greeting(), places);
    ASSERT_TRUE(hot_flags.any_kernel_tuples);
  }
  // Of the request that this thread is in.
  std::vector<Row> Packed() {
    std::vector<Row> rows;
    BaggageLine* const line = CurrentBaggageIfAny();
    if (line == nullptr) return rows;
    const auto packed = line->Unpack(query_->program.query, 0, query_->program.slots[0]);
    for (size_t row = 0; row < packed.rows().size(); ++row) {
      const Value* const columns = packed.rows().columns(row);
      for (uint64_t i = 0; i < packed.rows().weight(row); ++i)
        rows.emplace_back(columns, columns + query_->program.slots[0].columns);
    }
    return rows;
  }

  std::shared_ptr<const LiveQuery> query_;
  std::unique_ptr<Weaver> weaver_;
  const std::shared_ptr<const ProcessIdentity> process_ =
      std::make_shared<ProcessIdentity>(ProcessIdentity{"h1", "p1", 17});
  KernelTuples tuples_{process_, &AnyMemory};
};

Row Order(int64_t amount, const char* who) {
  return {Value(amount), Value(std::string(who)), Value(std::string("retail"))};
}

TEST_F(KernelTuplesTest, WhatHappenedInARequestIsInItsBaggage) {
  Map(PacksOrders());
  const SavedLine before = EnterLine(LineOf::kRequest, nullptr);
  weaver_->Order(5, "alice");
  weaver_->Order(7, "bob", 2);  // its name could not be read
  EXPECT_EQ(Packed(),
            (std::vector<Row>{Order(5, "alice"),
                              {Value(int64_t{7}), Value(), Value(std::string("retail"))}}));
  weaver_->Order(5, "alice");
  EXPECT_EQ(Packed().size(), 3u);
  // Nor is anything there twice, or gone, when it is serialised.
  const auto frozen = FreezeCurrent();
  ASSERT_NE(frozen, nullptr);
  weaver_->Order(9, "carol");
  RestoreLine(before);
  const SavedLine again = EnterLine(LineOf::kRequest, frozen);
  EXPECT_EQ(Packed().size(), 3u);
  RestoreLine(again);
}

// Whoever goes over to the emit plan keeps what is mapped, and sends events instead of packing their tuples.
TEST_F(KernelTuplesTest, ARequestOnTheEmitPlanCarriesAnId) {
  const auto packs = PacksOrders();
  Map(packs);
  auto emits = std::make_shared<LiveQuery>(*packs);
  emits->plan = QueryPlan::kEmit;
  emits->places = wf::advice::EmittedPlaces(emits->program);
  tuples_.Want({emits});
  ASSERT_TRUE(hot_flags.any_kernel_tuples);
  query_ = emits;
  const SavedLine before = EnterLine(LineOf::kRequest, nullptr);
  weaver_->Order(1, "alice");
  weaver_->Order(2, "alice");
  EXPECT_TRUE(Packed().empty());
  ASSERT_NE(CurrentBaggageIfAny(), nullptr);
  EXPECT_EQ(CurrentBaggageIfAny()->HeldBy(emits->program.query).tuples, 1u);
  RestoreLine(before);
  std::vector<wf::advice::EmittedEvent> events;
  for (const QueryInterval& interval : CollectIntervals(INT64_MAX, {})) {
    if (interval.query != emits) continue;
    for (const std::string& piece : interval.events.pieces())
      ASSERT_TRUE(wf::advice::DecodeEvents(piece, emits->places, events));
  }
  ASSERT_EQ(events.size(), 2u);
  EXPECT_TRUE(events[0].after.empty());
  EXPECT_EQ(events[1].after, (std::vector<uint64_t>{events[0].id}));
}

TEST_F(KernelTuplesTest, NothingIsJoinedToAnotherRequest) {
  Map(PacksOrders());
  weaver_->Order(1, "nobody");
  const SavedLine before = EnterLine(LineOf::kRequest, nullptr);
  EXPECT_TRUE(Packed().empty());
  weaver_->Order(2, "alice");
  {
    const SavedLine outer = EnterLine(LineOf::kRequest, nullptr);
    EXPECT_TRUE(Packed().empty());
    weaver_->Order(3, "bob");
    RestoreLine(outer);
  }
  EXPECT_EQ(Packed(), (std::vector<Row>{Order(2, "alice")}));
  weaver_->Order(4, "alice");
  RestoreLine(before);
  weaver_->Order(5, "nobody");
  const SavedLine next = EnterLine(LineOf::kRequest, nullptr);
  EXPECT_TRUE(Packed().empty());
  RestoreLine(next);
}

TEST_F(KernelTuplesTest, EachThreadHasItsOwn) {
  Map(PacksOrders());
  const SavedLine before = EnterLine(LineOf::kRequest, nullptr);
  weaver_->Order(1, "here");
  std::thread([&] {
    const SavedLine none = EnterLine(LineOf::kRequest, nullptr);
    weaver_->Order(2, "there");
    EXPECT_EQ(Packed(), (std::vector<Row>{Order(2, "there")}));
    RestoreLine(none);
  }).join();
  EXPECT_EQ(Packed(), (std::vector<Row>{Order(1, "here")}));
  RestoreLine(before);
}

TEST_F(KernelTuplesTest, LimitsAreThoseOfTheQueryAndWhatIsLostIsTold) {
  PackLimits limits;
  limits.tuples = 3;
  Map(PacksOrders(Keep::kAll, limits));
  TakeOverflowMarks();
  const SavedLine before = EnterLine(LineOf::kRequest, nullptr);
  for (int64_t i = 0; i < 10; ++i) weaver_->Order(i, "x");  // there is room for eight
  EXPECT_EQ(Packed().size(), 3u);
  RestoreLine(before);
  uint64_t lost = 0, most = 0;
  for (const QueryInterval& interval : CollectIntervals(INT64_MAX, {})) {
    if (interval.query != query_) continue;
    lost += interval.lost;
    most = std::max(most, interval.packed_tuples_max);
    EXPECT_EQ(interval.hits, 0u);
  }
  EXPECT_EQ(lost, 2u);
  EXPECT_EQ(most, 3u);
  bool marked = false;
  for (const auto& [query, count] : TakeOverflowMarks())
    marked = marked || (query == query_->program.query && count == 1);
  EXPECT_TRUE(marked);
}

TEST_F(KernelTuplesTest, PlacesMayBeToldLater) {
  Map(PacksOrders(), "");
  const SavedLine before = EnterLine(LineOf::kRequest, nullptr);
  weaver_->Order(1, "early");
  EXPECT_TRUE(Packed().empty());
  weaver_->Say(kPlaces, -1);
  weaver_->Order(2, "late");
  weaver_->Order(3, "unknown", 0, 77);
  EXPECT_EQ(Packed(), (std::vector<Row>{Order(2, "late")}));
  RestoreLine(before);
}

TEST_F(KernelTuplesTest, AWeaverThatGoesTakesItWithIt) {
  Map(PacksOrders());
  const SavedLine before = EnterLine(LineOf::kRequest, nullptr);
  weaver_->Order(1, "alice");
  EXPECT_EQ(Packed().size(), 1u);
  weaver_->Leave();
  EXPECT_TRUE(tuples_.Connect());  // it may come back
  EXPECT_FALSE(hot_flags.any_kernel_tuples);
  weaver_->Order(2, "bob");
  EXPECT_EQ(Packed().size(), 1u);
  tuples_.Want({});
  EXPECT_FALSE(tuples_.Connect());
  RestoreLine(before);
}

TEST_F(KernelTuplesTest, AQueryThatIsTakenOutIsUnmapped) {
  Map(PacksOrders());
  tuples_.Want({});
  EXPECT_FALSE(hot_flags.any_kernel_tuples);
  const SavedLine before = EnterLine(LineOf::kRequest, nullptr);
  weaver_->Order(1, "alice");
  EXPECT_TRUE(Packed().empty());
  RestoreLine(before);
}

TEST_F(KernelTuplesTest, NobodyIsAskedForAQueryThatPacksNothing) {
  auto query = std::make_shared<LiveQuery>();
  query->program = MakeProgram({{{"Order"}, {Observe{{"amount"}}, wf::advice::Emit{}}}});
  EXPECT_FALSE(Packs(*query));
  tuples_.Want({query});
  EXPECT_FALSE(tuples_.Connect());
}

TEST_F(KernelTuplesTest, WhatIsNotAsItShouldBeIsRefused) {
  const auto refused = [&](KernelTuples& tuples, const auto& greeting, const char* places) {
    const auto query = PacksOrders();
    Weaver weaver(query->program.query);
    tuples.Want({query});
    weaver.TakeIn(tuples, greeting(weaver), places);
    const bool mapped = hot_flags.any_kernel_tuples;
    tuples.Want({});
    return !mapped;
  };
  const auto good = [](const Weaver& weaver) { return weaver.Greeting(); };
  EXPECT_FALSE(refused(tuples_, good, kPlaces));
  KernelTuples wary(process_, &NoMemory), real(process_);
  EXPECT_TRUE(refused(wary, good, kPlaces));
  EXPECT_TRUE(refused(real, good, kPlaces)) << "a file is no map of the kernel's";
  EXPECT_TRUE(refused(
      tuples_, [](const Weaver& w) { return w.Greeting(100); }, kPlaces));
  EXPECT_TRUE(refused(
      tuples_, [](const Weaver& w) { return w.Greeting(32); }, kPlaces));
  EXPECT_TRUE(refused(
      tuples_, [](const Weaver& w) { return w.Greeting(256, 2); }, kPlaces));
  EXPECT_TRUE(refused(
      tuples_, [](const Weaver&) { return std::string("{"); }, kPlaces));
}

TEST(HandedPlaces, VariablesLieInTheRecord) {
  std::vector<HandedPlace> places;
  const auto read = [&](const std::string& variable) {
    return ReadPlaces(*ParseJson(R"([{"place":0,"tracepoint":"x","string_bytes":64,"variables":[)" +
                                 variable + "]}]"),
                      128, places);
  };
  EXPECT_TRUE(read(R"({"name":"a","form":"integer","offset":120})"));
  EXPECT_FALSE(read(R"({"name":"a","form":"integer","offset":121})"));
  EXPECT_FALSE(read(R"({"name":"a","form":"integer","offset":-8})"));
  EXPECT_FALSE(read(R"({"name":"a","form":"integer","offset":8})")) << "of the header";
  EXPECT_FALSE(read(R"({"name":"a","form":"string","offset":64})")) << "it would end behind it";
  EXPECT_FALSE(read(R"({"name":"a","form":"quux","offset":64})"));
  EXPECT_FALSE(ReadPlaces(*ParseJson(R"([{"place":1e9}])"), 128, places));
  EXPECT_FALSE(ReadPlaces(*ParseJson("{}"), 128, places));
}

}  // namespace
}  // namespace wherefore::client
