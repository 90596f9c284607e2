#include "bus/kafka/kafka_bus.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <fstream>
#include <sstream>

#include "bus/kafka/kafka_notes.h"
#include "bus/kafka/kafka_publisher.h"
#include "bus/kafka/kafka_reader.h"
#include "bus/kafka/kafka_topics.h"
#include "log/log.h"

namespace wf::bus::kafka {
namespace {

constexpr Nanos kCheckPatience = 2 * kSecond;

Result<KafkaProperties> ReadProperties(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::stringstream text;
  if (!file || !(text << file.rdbuf()))
    return EnvironmentError(fmt::format("{}: cannot be read", path), "check --bus-config");
  struct stat facts {};
  if (::stat(path.c_str(), &facts) == 0 && (facts.st_mode & S_IROTH) != 0)
    log::Warn("{}: every user may read it; if it contains a password, chmod 600", path);
  return ParseKafkaProperties(text.str(), path);
}

// Waiting does not mend a wrong password, nor a certificate that is not trusted.
void Troubled(rd_kafka_t*, int error, const char* reason, void* opaque) {
  if (error != RD_KAFKA_RESP_ERR__AUTHENTICATION && error != RD_KAFKA_RESP_ERR__SSL) return;
  auto& shared = *static_cast<KafkaShared*>(opaque);
  const std::lock_guard lock(shared.refused_mutex);
  shared.refused_because = reason;
}

class KafkaBus : public Bus {
 public:
  static Result<std::unique_ptr<Bus>> Open(KafkaUrl url, KafkaBusOptions options) {
    auto bus = std::make_unique<KafkaBus>();
    bus->shared_ = std::make_shared<KafkaShared>();
    KafkaShared& shared = *bus->shared_;
    shared.url = std::move(url);
    shared.options = std::move(options);
    if (!shared.options.config_file.empty()) {
      WF_ASSIGN(shared.user, ReadProperties(shared.options.config_file));
    }
    shared.user.insert(shared.user.end(), shared.url.properties.begin(),
                       shared.url.properties.end());
    // A consumer, though it consumes nothing: asking for a topic's facts would make a producer's broker create it.
    WF_ASSIGN(ConfPtr conf, MakeConf(shared, RD_KAFKA_CONSUMER, {}, {}));
    rd_kafka_conf_set_opaque(conf.get(), &shared);
    rd_kafka_conf_set_error_cb(conf.get(), Troubled);
    WF_ASSIGN(bus->asking_, MakeClient(RD_KAFKA_CONSUMER, std::move(conf)));
    WF_ASSIGN(shared.partitions, EnsureTopics(bus->asking_.get(), shared));
    WF_ASSIGN(bus->sender_, KafkaSender::Make(shared));
    return std::unique_ptr<Bus>(std::move(bus));
  }

  Result<std::unique_ptr<BusPublisher>> Publisher() override {
    return std::unique_ptr<BusPublisher>(std::make_unique<KafkaPublisher>(shared_, sender_));
  }
  Result<std::unique_ptr<BusReader>> Join(const std::string& group, BusHandover handover) override {
    WF_ASSIGN(auto reader, KafkaReader::Join(shared_, sender_, group, std::move(handover)));
    auto counted = std::make_unique<CountedReader>(*this, std::move(reader));
    return std::unique_ptr<BusReader>(std::move(counted));
  }
  Result<std::unique_ptr<BusNotes>> Notes(const std::string& group) override {
    WF_ASSIGN(auto notes, KafkaNotes::Open(shared_, sender_, group));
    return std::unique_ptr<BusNotes>(std::move(notes));
  }

  Status Check() override {
    WF_TRY(CountPartitions(asking_.get(), *shared_, shared_->topic(), kCheckPatience));
    return {};
  }

  BusStatus ReadStatus() const override {
    BusStatus status;
    status.unsent = shared_->unsent;
    status.poisoned = shared_->poisoned;
    status.set_aside = shared_->set_aside;
    status.missed = shared_->missed;
    status.refused = shared_->refused;
    status.failed = shared_->failed;
    status.handovers = shared_->handovers;
    const std::lock_guard lock(mutex_);
    for (KafkaReader* reader : readers_) {
      status.partitions += reader->partitions();
      status.lag += reader->Lag();
    }
    return status;
  }

 private:
  // A reader that is known to the bus as long as it lives, for ReadStatus.
  class CountedReader : public BusReader {
   public:
    CountedReader(KafkaBus& bus, std::unique_ptr<KafkaReader> reader)
        : bus_(bus), reader_(std::move(reader)) {
      const std::lock_guard lock(bus_.mutex_);
      bus_.readers_.push_back(reader_.get());
    }
    ~CountedReader() override {
      const std::lock_guard lock(bus_.mutex_);
      std::erase(bus_.readers_, reader_.get());
    }
    Result<std::vector<BusPiece>> Read(Nanos patience) override { return reader_->Read(patience); }
    Status Commit(const std::vector<BusPosition>& done) override { return reader_->Commit(done); }
    void SetFlow(Flow flow) override { reader_->SetFlow(flow); }
    Status SetAside(const BusPiece& piece, const std::string& why) override {
      return reader_->SetAside(piece, why);
    }

   private:
    KafkaBus& bus_;
    const std::unique_ptr<KafkaReader> reader_;
  };

  std::shared_ptr<KafkaShared> shared_;
  ClientPtr asking_;
  std::shared_ptr<KafkaSender> sender_;
  mutable std::mutex mutex_;
  std::vector<KafkaReader*> readers_;
};

}  // namespace

Result<std::unique_ptr<Bus>> OpenKafkaBus(const std::string& url, KafkaBusOptions options) {
  WF_ASSIGN(KafkaUrl parsed, ParseKafkaUrl(url));
  return KafkaBus::Open(std::move(parsed), std::move(options));
}

}  // namespace wf::bus::kafka
