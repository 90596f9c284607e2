#include "base/kept_results.h"

#include <gtest/gtest.h>

#include <atomic>
#include <stdexcept>
#include <thread>
#include <vector>

namespace wf {
namespace {

using Texts = KeptResults<std::string>;

Texts::Make Making(std::string text, int* times = nullptr, Texts::Keep keep = Texts::Keep::kYes) {
  return [=]() -> Result<Texts::Made> {
    if (times != nullptr) ++*times;
    return Texts::Made{std::make_shared<std::string>(text), text.size(), keep};
  };
}

TEST(KeptResults, WhatWasMadeIsGivenAgain) {
  Texts kept({4, 1000});
  int times = 0;
  EXPECT_EQ(**kept.Get("a", Making("one", &times)), "one");
  EXPECT_EQ(**kept.Get("a", Making("two", &times)), "one");
  EXPECT_EQ(**kept.Get("b", Making("three", &times)), "three");
  EXPECT_EQ(times, 2);
  const KeptCounts counts = kept.counts();
  EXPECT_EQ(counts.results, 2u);
  EXPECT_EQ(counts.bytes, 3u + 5u + 2u) << "of results and keys";
  EXPECT_EQ(counts.made, 2u);
  EXPECT_EQ(counts.reused, 1u);
}

TEST(KeptResults, WhatWasAskedForLongestAgoGoesFirst) {
  Texts kept({2, 1000});
  (void)kept.Get("a", Making("1"));
  (void)kept.Get("b", Making("2"));
  (void)kept.Get("a", Making("?"));
  (void)kept.Get("c", Making("3"));
  int times = 0;
  EXPECT_EQ(**kept.Get("a", Making("again", &times)), "1");
  EXPECT_EQ(**kept.Get("b", Making("again", &times)), "again");
  EXPECT_EQ(times, 1);
}

TEST(KeptResults, BytesAreBounded) {
  Texts kept({100, 1000});
  for (int i = 0; i < 20; ++i) {
    (void)kept.Get(std::string(1, static_cast<char>('a' + i)), Making(std::string(299, 'x')));
    EXPECT_LE(kept.counts().bytes, 1000u);
  }
  EXPECT_EQ(kept.counts().results, 3u);
  EXPECT_EQ((*kept.Get("huge", Making(std::string(2000, 'y'))))->size(), 2000u);
  EXPECT_EQ(kept.counts().results, 3u) << "what would push out all others is not kept";
}

TEST(KeptResults, ErrorsAndWhatTheKeyIsNotTrueOfAreNotKept) {
  Texts kept({4, 1000});
  const auto failed =
      kept.Get("a", []() -> Result<Texts::Made> { return NotFound("there is none"); });
  EXPECT_EQ(failed.error().message, "there is none");
  EXPECT_EQ(**kept.Get("a", Making("stale", nullptr, Texts::Keep::kNo)), "stale");
  EXPECT_EQ(**kept.Get("a", Making("good")), "good");
  EXPECT_EQ(kept.counts().made, 3u);
}

TEST(KeptResults, ManyWhoAskAtOnceWaitForOne) {
  Texts kept({4, 1000});
  std::atomic<int> made{0}, asked{0};
  constexpr int kAsking = 8;
  std::vector<std::thread> threads;
  for (int i = 0; i < kAsking; ++i) {
    threads.emplace_back([&] {
      ++asked;
      const auto result = kept.Get("a", [&]() -> Result<Texts::Made> {
        ++made;
        // All others are there, or about to be; who comes later finds it kept.
        while (asked < kAsking) std::this_thread::yield();
        return Texts::Made{std::make_shared<std::string>("one"), 3};
      });
      EXPECT_EQ(**result, "one");
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(made, 1);
  EXPECT_EQ(kept.counts().reused, kAsking - 1u);
}

TEST(KeptResults, OtherKeysDoNotWait) {
  Texts kept({4, 1000});
  const auto outer = kept.Get("a", [&]() -> Result<Texts::Made> {
    std::thread other([&] { EXPECT_EQ(**kept.Get("b", Making("inner")), "inner"); });
    other.join();
    return Texts::Made{std::make_shared<std::string>("outer"), 5};
  });
  EXPECT_EQ(**outer, "outer");
}

TEST(KeptResults, OneThatThrowsHoldsUpNobody) {
  Texts kept({4, 1000});
  std::atomic<bool> waiting{false};
  std::thread second;
  EXPECT_THROW((void)kept.Get("a",
                              [&]() -> Result<Texts::Made> {
                                second = std::thread([&] {
                                  waiting = true;
                                  EXPECT_EQ(**kept.Get("a", Making("second")), "second");
                                });
                                while (!waiting) std::this_thread::yield();
                                throw std::runtime_error("no memory");
                              }),
               std::runtime_error);
  second.join();
}

}  // namespace
}  // namespace wf
