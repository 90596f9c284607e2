// Customers. Requests leave on a fixed schedule, so that a slow shop gets no fewer of them (an open
// loop); what they ask for is drawn from the seed.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <iterator>
#include <mutex>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "client/transport/http_connection.h"
#include "roles.h"

namespace shop {

using wherefore::client::Deadline;
using wherefore::client::HttpConnection;
using wherefore::client::HttpRequest;
using wherefore::client::HttpResponse;
using Clock = std::chrono::steady_clock;

namespace {

// Enough for ten requests a second of six seconds each; above that the schedule slips.
constexpr int kCustomersAtOnce = 64;

struct Operation {
  const char* name;
  const char* method;
  int share;  // of 10
};
constexpr Operation kOperations[] = {
    {"browse", "GET", 5}, {"search", "GET", 3}, {"checkout", "POST", 2}};

struct Planned {
  int operation;
  HttpRequest request;
};

Planned Plan(uint64_t seed, int64_t number) {
  static const char* const kWords[] = {"tea", "kettle", "lamp", "chair", "rug", "clock"};
  std::mt19937_64 random(seed * 1'000'003 + static_cast<uint64_t>(number));
  int draw = static_cast<int>(random() % 10);
  int operation = 0;
  while (draw >= kOperations[operation].share) draw -= kOperations[operation++].share;
  // Half of the requests come from a hundred regulars, the others from 20,000 customers.
  const uint64_t user = random() % 2 == 0 ? random() % 100 : random() % 20'000;
  char session[17];
  std::snprintf(session, sizeof session, "%016llx", static_cast<unsigned long long>(random()));
  Planned planned;
  planned.operation = operation;
  planned.request.method = kOperations[operation].method;
  planned.request.path = std::string("/") + kOperations[operation].name +
                         "?user=" + std::to_string(user) + "&session=" + session;
  if (operation == 1) planned.request.path += std::string("&q=") + kWords[random() % 6];
  return planned;
}

struct Tally {
  std::vector<double> ms;
  int declined = 0;  // answered 4xx: a card that was refused
  int failed = 0;    // answered 5xx, or not at all
};

double Quantile(const std::vector<double>& sorted, double q) {
  if (sorted.empty()) return 0;
  return sorted[static_cast<size_t>(std::lround(q * static_cast<double>(sorted.size() - 1)))];
}

void Print(Tally (&tallies)[std::size(kOperations)]) {
  std::printf("  %-10s %8s %9s %9s %9s %9s %7s\n", "operation", "requests", "p50 ms", "p90 ms",
              "max ms", "declined", "failed");
  for (size_t i = 0; i < std::size(kOperations); ++i) {
    Tally& tally = tallies[i];
    std::sort(tally.ms.begin(), tally.ms.end());
    std::printf("  %-10s %8zu %9.1f %9.1f %9.1f %9d %7d\n", kOperations[i].name, tally.ms.size(),
                Quantile(tally.ms, 0.5), Quantile(tally.ms, 0.9), Quantile(tally.ms, 1),
                tally.declined, tally.failed);
  }
  std::fflush(stdout);
}

}  // namespace

int RunLoad(const LoadPlan& plan) {
  const size_t colon = plan.frontend.rfind(':');
  const std::string host = plan.frontend.substr(0, colon);
  const std::string port = plan.frontend.substr(colon + 1);
  const Clock::time_point start = Clock::now();
  std::atomic<int64_t> next{0};
  std::atomic<bool> stopping{false};
  std::atomic<int> running{kCustomersAtOnce};
  std::mutex mutex;
  Tally tallies[std::size(kOperations)];

  const auto customer = [&] {
    HttpConnection connection(host, port);
    while (true) {
      const int64_t number = next.fetch_add(1);
      const std::chrono::duration<double> offset(static_cast<double>(number) / plan.rate);
      if (plan.requests > 0 && number >= plan.requests) break;
      if (plan.seconds > 0 && offset.count() >= plan.seconds) break;
      const auto due = start + std::chrono::duration_cast<Clock::duration>(offset);
      while (!stopping && Clock::now() < due) {
        std::this_thread::sleep_until(std::min(due, Clock::now() + std::chrono::milliseconds(50)));
      }
      if (stopping) break;
      const Planned planned = Plan(plan.seed, number);
      const auto sent = Clock::now();
      const HttpResponse answer =
          connection.Send(planned.request, Deadline(std::chrono::milliseconds(60'000)));
      const std::chrono::duration<double, std::milli> took = Clock::now() - sent;
      const std::lock_guard lock(mutex);
      Tally& tally = tallies[planned.operation];
      tally.ms.push_back(took.count());
      if (answer.status >= 400 && answer.status < 500) ++tally.declined;
      if (answer.status == 0 || answer.status >= 500) ++tally.failed;
    }
    --running;
  };
  std::vector<std::thread> customers;
  customers.reserve(kCustomersAtOnce);
  for (int i = 0; i < kCustomersAtOnce; ++i) customers.emplace_back(customer);
  while (running > 0 && SleepUnlessStopped(50)) {
  }
  stopping = true;
  for (std::thread& thread : customers) thread.join();
  Print(tallies);
  for (const Tally& tally : tallies) {
    if (tally.failed != 0) return 1;
  }
  return 0;
}

}  // namespace shop
