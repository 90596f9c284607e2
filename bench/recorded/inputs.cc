// recorded_inputs pixels|points|words|keys|links MEGABYTES: writes an input to standard output, the same one every time.
#include <cstring>
#include <string>

#include "program.h"

using recorded::Random;

namespace {

std::string Word(uint64_t number) {
  std::string word;
  do {
    word += static_cast<char>('a' + number % 26);
    number /= 26;
  } while (number != 0);
  return word;
}

// Few words are frequent and many rare, as in any text.
uint64_t Skewed(Random& random, uint64_t most) {
  const double u = random.Uniform();
  return static_cast<uint64_t>(u * u * u * static_cast<double>(most));
}

void AddPiece(const char* kind, Random& random, std::string& out) {
  if (std::strcmp(kind, "words") == 0) {
    out += Word(Skewed(random, 60'000));
    out += random.Next() % 12 == 0 ? '\n' : ' ';
  } else if (std::strcmp(kind, "keys") == 0) {
    out += Word(random.Next() >> (20 + random.Next() % 20));
    out += '\n';
  } else if (std::strcmp(kind, "links") == 0) {
    // A document: its links among its words, ended by a line of its own.
    const uint64_t links = 1 + random.Next() % 8;
    for (uint64_t i = 0; i < links; ++i) {
      for (int words = 0; words < 30; ++words) out += Word(Skewed(random, 60'000)) + ' ';
      out += "<a href=\"http://" + Word(Skewed(random, 20'000)) + ".example/\">";
    }
    out += '\n';
  } else {
    const uint64_t bits = random.Next();
    if (std::strcmp(kind, "points") == 0) {
      // y follows x, with noise.
      for (int i = 0; i < 4; ++i) {
        const auto x = static_cast<uint8_t>(bits >> (16 * i));
        const auto noise = static_cast<uint8_t>(bits >> (16 * i + 8));
        out += static_cast<char>(x);
        out += static_cast<char>(x / 2 + noise / 4);
      }
    } else {
      out.append(reinterpret_cast<const char*>(&bits), sizeof(bits));
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fputs("usage: recorded_inputs pixels|points|words|keys|links MEGABYTES\n", stderr);
    return 2;
  }
  const auto wanted = static_cast<uint64_t>(std::atof(argv[2]) * 1e6);
  Random random(7);
  std::string block;
  for (uint64_t written = 0; written < wanted; written += block.size()) {
    block.clear();
    while (block.size() < (1 << 20)) AddPiece(argv[1], random, block);
    if (std::fwrite(block.data(), 1, block.size(), stdout) != block.size()) return 1;
  }
  return std::fflush(stdout) == 0 ? 0 : 1;
}
