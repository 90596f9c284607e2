// From documents with links to links with documents. As in Phoenix each thread makes an index of its documents by itself,
// with much allocation; then it is merged into the index of all, whose parts have a lock each.
#include <algorithm>
#include <array>
#include <functional>
#include <string>
#include <unordered_map>

#include "program.h"

using namespace recorded;

namespace {

constexpr size_t kParts = 8;

using Documents = std::vector<uint64_t>;
struct HashOfLink {
  using is_transparent = void;  // a link that is known is found without making a string of it
  size_t operator()(std::string_view link) const { return Hash(link); }
};
using Index = std::unordered_map<std::string, Documents, HashOfLink, std::equal_to<>>;

struct Part {
  pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
  Index index;
};

// found(link, document) for each link. A document is a line of the text.
template <class Found>
void FindLinks(std::string_view text, std::string_view slice, const Found& found) {
  constexpr std::string_view kOpen = "<a href=\"";
  for (size_t at = 0; at < slice.size();) {
    const size_t end = std::min(slice.find('\n', at), slice.size());
    const auto document = static_cast<uint64_t>(slice.data() - text.data()) + at;
    const std::string_view body = slice.substr(at, end - at);
    for (size_t open = body.find(kOpen); open != std::string_view::npos;
         open = body.find(kOpen, open + 1)) {
      const size_t begin = open + kOpen.size();
      found(body.substr(begin, body.find('"', begin) - begin), document);
    }
    at = end + 1;
  }
}

void Add(Index& index, std::string_view link, uint64_t document) {
  auto entry = index.find(link);
  if (entry == index.end()) entry = index.emplace(link, Documents{}).first;
  entry->second.push_back(document);
}

}  // namespace

int main(int argc, char** argv) {
  const Arguments arguments = Parse(argc, argv);
  const std::string_view text = MapInput(arguments.input);
  std::vector<Part> parts(kParts);
  // The harder form, asked for by a fourth argument: every link goes straight into the index of all.
  const bool straight = argc > 4;
  auto work = [&](int index) {
    const std::string_view slice =
        WholePieces(text, SliceOf(text.size(), index, arguments.threads), '\n');
    std::array<Index, kParts> found;
    FindLinks(text, slice, [&](std::string_view link, uint64_t document) {
      const size_t part = Hash(link) % kParts;
      if (straight) pthread_mutex_lock(&parts[part].lock);
      Add(straight ? parts[part].index : found[part], link, document);
      if (straight) pthread_mutex_unlock(&parts[part].lock);
    });
    for (size_t i = 0; i < kParts; ++i) {
      pthread_mutex_lock(&parts[i].lock);
      for (auto& [link, documents] : found[i]) {
        Documents& all = parts[i].index[link];
        all.insert(all.end(), documents.begin(), documents.end());
      }
      pthread_mutex_unlock(&parts[i].lock);
    }
  };
  RunThreads(arguments.threads, work);
  uint64_t links = 0, documents = 0, sum = 0;
  for (Part& part : parts) {
    for (auto& [link, found] : part.index) {
      ++links;
      documents += found.size();
      std::sort(found.begin(), found.end());
      uint64_t hash = Hash(link);
      for (const uint64_t document : found) hash = hash * 31 + document;
      sum += hash;
    }
  }
  std::printf("%llu links in %llu places, %llu\n", static_cast<unsigned long long>(links),
              static_cast<unsigned long long>(documents), static_cast<unsigned long long>(sum));
  return 0;
}
