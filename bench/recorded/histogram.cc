// How often each value of red, green and blue occurs in a picture: a mapped input, read once, hardly any writing.
#include <array>

#include "program.h"

using namespace recorded;

namespace {

using Counts = std::array<std::array<uint64_t, 256>, 3>;

}  // namespace

int main(int argc, char** argv) {
  const Arguments arguments = Parse(argc, argv);
  const std::string_view pixels = MapInput(arguments.input);
  const size_t whole = pixels.size() / 3;
  std::vector<Counts> parts(static_cast<size_t>(arguments.threads));
  auto work = [&](int index) {
    Counts counts = {};
    const Slice slice = SliceOf(whole, index, arguments.threads);
    for (size_t i = slice.begin; i < slice.end; ++i) {
      for (size_t colour = 0; colour < 3; ++colour)
        ++counts[colour][static_cast<unsigned char>(pixels[3 * i + colour])];
    }
    parts[static_cast<size_t>(index)] = counts;
  };
  RunThreads(arguments.threads, work);
  for (size_t colour = 0; colour < 3; ++colour) {
    uint64_t weighted = 0;
    for (const Counts& part : parts) {
      for (size_t value = 0; value < 256; ++value) weighted += (value + 1) * part[colour][value];
    }
    std::printf("%zu %llu\n", colour, static_cast<unsigned long long>(weighted));
  }
  return 0;
}
