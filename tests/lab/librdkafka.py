"""librdkafka from Python, as far as tests need it: a producer, a consumer, and its own record of what it asked and got."""
import collections
import ctypes
import re
import time

_RD_KAFKA_PRODUCER, _RD_KAFKA_CONSUMER = 0, 1
_V_END, _V_TOPIC, _V_VALUE, _V_FLAGS = 0, 1, 4, 7  # of rd_kafka_producev
_COPY = 2

_LOG = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int, ctypes.c_char_p, ctypes.c_char_p)

# A connection bears the broker's address, whatever its number; that to the coordinator of a group has a name of its own.
_SENT = re.compile(r"\]: (\S+)/\S+: Sent (\w+)Request \(v\d+, (\d+) bytes @ 0, CorrId (\d+)\)")
_RECEIVED = re.compile(r"\]: (\S+)/\S+: Received (\w+)Response \(v\d+, (\d+) bytes, CorrId (\d+), rtt ([0-9.]+)ms\)")
Sent = collections.namedtuple("Sent", "connection api bytes correlation")
Received = collections.namedtuple("Received", "connection api bytes correlation ms")


def _load():
    lib = ctypes.CDLL("librdkafka.so.1")
    for name, result in (("rd_kafka_conf_new", ctypes.c_void_p), ("rd_kafka_new", ctypes.c_void_p),
                         ("rd_kafka_topic_partition_list_new", ctypes.c_void_p),
                         ("rd_kafka_topic_partition_list_add", ctypes.c_void_p),
                         ("rd_kafka_consumer_poll", ctypes.POINTER(_Message))):
        getattr(lib, name).restype = result
    return lib


class _Message(ctypes.Structure):
    _fields_ = [("err", ctypes.c_int), ("topic", ctypes.c_void_p), ("partition", ctypes.c_int32),
                ("payload", ctypes.c_void_p), ("len", ctypes.c_size_t)]


class Client:
    """`settings` as librdkafka names them, with _ for the dot. What it sent and received is in `sent` and `received`."""

    def __init__(self, kind, address, **settings):
        self.lib = _load()
        self.sent, self.received = [], []
        values = {"bootstrap.servers": address, "debug": "protocol",
                  **{key.replace("_", "."): str(value) for key, value in settings.items()}}
        conf = ctypes.c_void_p(self.lib.rd_kafka_conf_new())
        why = ctypes.create_string_buffer(512)
        for key, value in values.items():
            if self.lib.rd_kafka_conf_set(conf, key.encode(), value.encode(), why, 512) != 0:
                raise RuntimeError(why.value.decode())
        self._log = _LOG(self._line)  # must live as long as the client
        self.lib.rd_kafka_conf_set_log_cb(conf, self._log)
        made = self.lib.rd_kafka_new(kind, conf, why, 512)
        if not made:
            raise RuntimeError(why.value.decode())
        self.client = ctypes.c_void_p(made)

    def _line(self, _client, _level, _facility, line):
        text = line.decode(errors="replace")
        if m := _SENT.search(text):
            self.sent.append(Sent(m[1], m[2], int(m[3]), int(m[4])))
        elif m := _RECEIVED.search(text):
            self.received.append(Received(m[1], m[2], int(m[3]), int(m[4]), float(m[5])))

    def destroy(self):
        self.lib.rd_kafka_destroy(self.client)


class Producer(Client):
    def __init__(self, address, **settings):
        super().__init__(_RD_KAFKA_PRODUCER, address, **settings)

    def produce(self, topic, value):
        error = self.lib.rd_kafka_producev(self.client, _V_TOPIC, topic.encode(), _V_VALUE, value,
                                           ctypes.c_size_t(len(value)), _V_FLAGS, _COPY, ctypes.c_int(_V_END))
        if error != 0:
            raise RuntimeError(f"rd_kafka_producev: {error}")

    def flush(self, seconds=20):
        """Returns when all that was produced is through."""
        if self.lib.rd_kafka_flush(self.client, int(seconds * 1000)) != 0:
            raise RuntimeError("rd_kafka_flush: time is up")


class Consumer(Client):
    def __init__(self, address, topic, **settings):
        super().__init__(_RD_KAFKA_CONSUMER, address, **settings)
        self.lib.rd_kafka_poll_set_consumer(self.client)
        topics = ctypes.c_void_p(self.lib.rd_kafka_topic_partition_list_new(1))
        self.lib.rd_kafka_topic_partition_list_add(topics, topic.encode(), ctypes.c_int32(-1))
        if self.lib.rd_kafka_subscribe(self.client, topics) != 0:
            raise RuntimeError("rd_kafka_subscribe")
        self.lib.rd_kafka_topic_partition_list_destroy(topics)

    def read(self, count, seconds=20):
        """The next `count` values."""
        values, deadline = [], time.monotonic() + seconds
        while len(values) < count and time.monotonic() < deadline:
            message = self.lib.rd_kafka_consumer_poll(self.client, 100)
            if not message:
                continue
            if message.contents.err == 0:
                values.append(ctypes.string_at(message.contents.payload, message.contents.len))
            self.lib.rd_kafka_message_destroy(message)
        return values

    def close(self):
        self.lib.rd_kafka_consumer_close(self.client)
        self.destroy()
