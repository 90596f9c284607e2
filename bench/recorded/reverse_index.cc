// From documents with links to links with documents: threads take documents in turn and insert into one table whose
// buckets have a lock each; much allocation, many locks.
#include <algorithm>
#include <string>

#include "program.h"

using namespace recorded;

namespace {

constexpr size_t kBuckets = 1024;

struct Entry {
  std::string link;
  std::vector<uint64_t> documents;
};

struct Bucket {
  pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
  std::vector<Entry> entries;
};

void Insert(Bucket& bucket, std::string_view link, uint64_t document) {
  pthread_mutex_lock(&bucket.lock);
  auto entry = std::find_if(bucket.entries.begin(), bucket.entries.end(),
                            [&](const Entry& e) { return e.link == link; });
  if (entry == bucket.entries.end())
    entry = bucket.entries.insert(bucket.entries.end(), {std::string(link), {}});
  entry->documents.push_back(document);
  pthread_mutex_unlock(&bucket.lock);
}

}  // namespace

int main(int argc, char** argv) {
  const Arguments arguments = Parse(argc, argv);
  const std::string_view text = MapInput(arguments.input);
  std::vector<Bucket> buckets(kBuckets);
  auto work = [&](int index) {
    constexpr std::string_view kOpen = "<a href=\"";
    const std::string_view part =
        WholePieces(text, SliceOf(text.size(), index, arguments.threads), '\n');
    size_t document = 0;
    for (size_t at = 0; at < part.size();) {
      const size_t end = std::min(part.find('\n', at), part.size());
      document = static_cast<size_t>(part.data() - text.data()) + at;
      const std::string_view body = part.substr(at, end - at);
      for (size_t open = body.find(kOpen); open != std::string_view::npos;
           open = body.find(kOpen, open + 1)) {
        const size_t begin = open + kOpen.size();
        const std::string_view link = body.substr(begin, body.find('"', begin) - begin);
        Insert(buckets[Hash(link) % kBuckets], link, document);
      }
      at = end + 1;
    }
  };
  RunThreads(arguments.threads, work);
  uint64_t links = 0, documents = 0, sum = 0;
  for (Bucket& bucket : buckets) {
    for (Entry& entry : bucket.entries) {
      ++links;
      documents += entry.documents.size();
      std::sort(entry.documents.begin(), entry.documents.end());
      uint64_t hash = Hash(entry.link);
      for (const uint64_t document : entry.documents) hash = hash * 31 + document;
      sum += hash;
    }
  }
  std::printf("%llu links in %llu places, %llu\n", static_cast<unsigned long long>(links),
              static_cast<unsigned long long>(documents), static_cast<unsigned long long>(sum));
  return 0;
}
