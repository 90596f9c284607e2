// The cost of admitting a request before it is decoded: finding its account and tenant, and checking the
// limits. Decoding a request of 512 spans takes about 200 µs (import/otlp/otlp_bench.cc).
#include <benchmark/benchmark.h>

#include <string>

#include "net/secret_hash.h"
#include "security/authorize.h"
#include "security/tenant_limits.h"

namespace wf::security {
namespace {

constexpr int kAccounts = 1000;

std::string TokenOf(int n) { return "token-of-somebody-" + std::to_string(n); }

Credentials Request(std::string_view authorization) {
  Credentials credentials;
  credentials.authorization = authorization;
  credentials.host = "collector.example:4318";
  credentials.remote_address = "10.0.0.7";
  return credentials;
}

void BM_AnybodyMay(benchmark::State& state) {
  const Authorizer authorizer("administrator's", {});
  const Credentials credentials = Request("");
  for (auto _ : state)
    benchmark::DoNotOptimize(authorizer.Authorize(credentials, Right::kWrite, HostCheck::kAnyHost));
}
BENCHMARK(BM_AnybodyMay);

void BM_ATokenOfAThousand(benchmark::State& state) {
  std::string yaml = "accounts:\n";
  for (int n = 0; n < kAccounts; ++n) {
    yaml += "  - {name: a" + std::to_string(n) + ", token: \"sha256:" + net::Sha256Hex(TokenOf(n)) +
            "\", tenants: [shop], roles: [write]}\n";
  }
  auto file = ReadAccounts(yaml, "accounts.yaml");
  if (!file.ok()) return state.SkipWithError(file.error().message.c_str());
  Authorizer authorizer("administrator's", {});
  authorizer.SetAccounts(std::move(*file));
  const std::string shown = "Bearer " + TokenOf(kAccounts / 2);
  const Credentials credentials = Request(shown);
  if (!authorizer.Authorize(credentials, Right::kWrite, HostCheck::kAnyHost).ok())
    return state.SkipWithError("the token is not known");
  for (auto _ : state)
    benchmark::DoNotOptimize(authorizer.Authorize(credentials, Right::kWrite, HostCheck::kAnyHost));
}
BENCHMARK(BM_ATokenOfAThousand);

// The calls that a receiver makes, counting included. Range 0: without limits, 1: with limits.
void BM_Limits(benchmark::State& state) {
  TenantLimits limits;
  if (state.range(0) != 0) {
    TenantQuotas quotas;
    quotas.spans_per_second = quotas.bytes_per_second = 1e15;
    quotas.request_bytes = 1 << 30;
    limits.SetQuotas({{"shop", quotas}});
  }
  const std::string tenant = "shop";
  for (auto _ : state) {
    benchmark::DoNotOptimize(limits.AdmitBytes(tenant, 100'000));
    benchmark::DoNotOptimize(limits.AdmitSpans(tenant, 512, 100'000));
    limits.Count(tenant, "events_accepted", 512);
  }
}
BENCHMARK(BM_Limits)->Arg(0)->Arg(1);

}  // namespace
}  // namespace wf::security
