// A program with everything that makes finding functions and arguments hard. It does the same thing every time; the
// tests know what. Compiled several ways (CMakeLists.txt). Line numbers matter to the tests: LINE marks are looked up.
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>

#include "shop_library.h"

#if defined(__clang__)
#define KEEP __attribute__((noinline))
#else
#define KEEP __attribute__((noinline, noclone))
#endif

volatile long g_sink = 0;
volatile long g_zero = 0;

namespace shop {

enum class Kind : short { kRead = 3, kWrite = -7 };
using Bytes = unsigned int;

struct User {
  int id = 0;
  std::string name;
  char tag[8] = {};
};

struct Counted {
  long seen = 77;
};

struct Request : Counted {
  virtual ~Request() = default;
  long size = 0;
  User user;
  const char* path = nullptr;
  unsigned flags : 3, level : 5;
  int delta : 9;
  double price = 0;
  bool urgent = false;
  Kind kind = Kind::kRead;
  Request* next = nullptr;
  std::unique_ptr<User> owner;
  std::shared_ptr<User> guest;
  std::atomic<int> tries{0};
  union {
    int as_int;
    float as_float;
  };
};

struct Pair {
  int x;
  long y;
};
struct Mixed {
  double weight;
  long count;
};
struct Big {
  long a, b, c;
};

KEEP long Add(int a, long b) { return a + b; }
KEEP long Handle(const Request& request, Bytes limit) {
  g_sink = g_sink + 1;
  return request.size + limit;
}
KEEP bool Flags(bool on, signed char small, unsigned short wide, Kind kind) {
  return on && small < 0 && wide > 0 && kind == Kind::kWrite;
}
KEEP int Overload(int number) {
  g_sink = g_sink + number;
  return number;
}
KEEP int Overload(const std::string& text) { return static_cast<int>(text.size()); }
KEEP int Overload(long first, Bytes second) { return static_cast<int>(first + second); }
KEEP size_t Texts(std::string_view view, const std::string& text, const char* raw,
                  std::string copy) {
  return view.size() + text.size() + copy.size() + static_cast<size_t>(raw[0]);
}
KEEP double Scale(double factor, int count) { return factor * count; }
KEEP int Many(int a, int b, int c, int d, int e, int f, int g, long h) {
  return a + b + c + d + e + f + g + static_cast<int>(h);
}
KEEP long Structs(Pair pair, Mixed mixed, Big big, int last) {
  return pair.x + pair.y + mixed.count + big.c + last;
}
KEEP std::string Name(int number) { return "name-" + std::to_string(number); }
KEEP std::string_view View(std::string_view text, size_t from) { return text.substr(from); }
KEEP Pair MakePair(int x) { return {x, x * 10L}; }
KEEP bool IsOdd(int number) { return (number & 1) != 0; }
KEEP long TailCaller(int a, long b) { return Add(a + 1, b * 2); }
KEEP int Fibonacci(int n) { return n < 2 ? n : Fibonacci(n - 1) + Fibonacci(n - 2); }
KEEP const char* Describe(int number) {
  switch (number) {
    case 0:
      return "zero";
    case 1:
      return "one";
    case 2:
      return "two";
    case 3:
      return "three";
    case 4:
      return "four";
    case 5:
      g_sink = number;
      return "five";
    case 6:
      return "six";
    case 7:
      g_sink = 7;
      return "seven";
    default:
      return "many";
  }
}
KEEP int Early(const int* pointer) {
  if (pointer == nullptr) return -1;
  for (int i = 0; i < 3; ++i) g_sink = g_sink + *pointer;
  return *pointer;
}

template <typename T>
KEEP T Twice(T value) {
  g_sink = g_sink + 1;
  return value + value;
}

template <typename... T>
KEEP long Packed(int first, T... rest) {
  g_sink = g_sink + first;
  return (first + ... + static_cast<long>(rest));
}
KEEP long LongDouble(long double wide, int after) { return static_cast<long>(wide) + after; }

struct Server {
  explicit Server(int id) : id_(id) {}
  virtual ~Server() = default;
  KEEP virtual int Serve(const Request& request, int depth) {
    return id_ + depth + (request.urgent ? 1 : 0);
  }
  KEEP int Id(int plus) const { return id_ + plus; }
  int id_;
};
struct Other {
  virtual ~Other() = default;
  virtual int Serve(int) { return 0; }
  long padding = 5;
};
struct Cache final : Other, Server {
  explicit Cache(int id) : Server(id) {}
  KEEP int Serve(const Request& request, int depth) override {
    return Server::Serve(request, depth) * 2;
  }
};
struct Proxy : Server {
  explicit Proxy(int id) : Server(id) {}
  KEEP int Serve(const Request&, int depth) override { return id_ * 100 + depth; }
};

struct Wall : Clock {
  KEEP long Now(int zone) const override { return 1000 + zone; }
};

KEEP int Thrower(int n) {
  if (n < 0) throw std::runtime_error("negative");
  return n;
}
// Nothing to clean up: the unwinder passes it without running any of its instructions.
KEEP int PassThrough(int n) { return Thrower(n) + 1; }
KEEP int WithCleanup(int n) {
  std::string text(static_cast<size_t>(40 + g_zero), 'x');
  return Thrower(n) + static_cast<int>(text.size());
}
KEEP int Catcher(int n) {
  try {
    return PassThrough(n) + WithCleanup(n);
  } catch (const std::exception&) {
    return -1;
  }
}
KEEP int CleanupOnly(int n) {
  try {
    return WithCleanup(n);
  } catch (const std::exception&) {
    return -2;
  }
}

inline __attribute__((always_inline)) long Inlined(long value, int by) {
  g_sink = g_sink + by;  // LINE inlined
  return value * by;
}
KEEP long FirstUser(long v) { return Inlined(v, 3) + 1; }
KEEP long SecondUser(long v) { return Inlined(v + 1, 4) + 2; }

KEEP long Sum(const int* values, int count) {
  long total = 0;
  for (int i = 0; i < count; ++i) {
    const long scaled = values[i] * 2L;
    total += scaled;
    g_sink = total;  // LINE loop
  }
  return total;
}

namespace {
KEEP int Hidden(int value) {
  g_sink = value;
  return value + 5;
}
}  // namespace

KEEP int CallLambda(int value) {
  auto lambda = [](int inner) KEEP {
    g_sink = g_sink + inner;
    return inner * 3;
  };
  return lambda(value + 1);
}

}  // namespace shop

int main() {
  using namespace shop;
  const long zero = g_zero;
  const int one = static_cast<int>(zero) + 1;
  long out = 0;
  out += Add(40 + one, 1000000000000L + zero);
  out += Add(-one, -5);
  Request request;
  request.size = 512 + zero;
  request.user.id = 17;
  request.user.name = "a user whose name is longer than sixteen bytes";
  std::memcpy(request.user.tag, "tag1", 5);
  request.path = "/etc/shop";
  request.flags = 5;
  request.level = 19;
  request.delta = -100;
  request.price = 2.5;
  request.urgent = one == 1;
  request.kind = Kind::kWrite;
  request.as_int = 4711;
  request.owner = std::make_unique<User>();
  request.owner->id = 23;
  request.guest = std::make_shared<User>();
  request.guest->name = "guest";
  request.tries = 9;
  Request behind;
  behind.size = 99;
  request.next = &behind;
  out += Handle(request, 7);
  out += Flags(true, static_cast<signed char>(-3 + zero), 65535, Kind::kWrite);
  out += Overload(12 + one) + Overload(std::string("four")) + Overload(4L, 5);
  out += static_cast<long>(Texts("a view", request.user.name, "raw text", "short"));
  out += static_cast<long>(Scale(1.5, 4 + one));
  out += Many(1, 2, 3, 4, 5, 6, 7 + one, 80 + zero);
  out += Structs({-3, 33}, {0.5, 44}, {1, 2, 3 + zero}, 55);
  out += static_cast<long>(Name(41 + one).size());
  out += static_cast<long>(View("viewed text", 2 + static_cast<size_t>(zero)).size());
  out += MakePair(6 + one).y;
  out += IsOdd(3 + static_cast<int>(zero)) + IsOdd(4);
  out += TailCaller(10, 20 + zero);
  out += Fibonacci(5);
  for (int i = 0; i < 9; ++i) out += Describe(i)[0];
  int five = 5;
  out += Early(nullptr) + Early(&five);
  out += Twice(21) + static_cast<long>(Twice(std::string("ab")).size());
  out += Packed(1 + static_cast<int>(zero), 2L, short{3}) + LongDouble(1.5L, 6 + one);
  Server server(1);
  Cache cache(2);
  Proxy proxy(3);
  Server* servers[] = {&server, &cache, &proxy};
  for (Server* s : servers) out += s->Serve(request, 10) + s->Id(5);
  Wall wall;
  out += Ask(wall, 3) + LibraryAdd(7, one) + library_read(3, "file", 4);
  out += Catcher(3) + Catcher(-1) + CleanupOnly(-one) + CleanupOnly(2);
  out += FirstUser(5) + SecondUser(6);
  const int values[] = {1, 2, 3};
  out += Sum(values, 3);
  out += Hidden(8) + CallLambda(8);
  std::printf("%ld\n", out + g_sink * 0);
  return 0;
}
