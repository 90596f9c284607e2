#!/usr/bin/env python3
"""Shards of ClickHouse for tests: Debian's clickhouse-server processes on loopback, each with its own generated
configuration, data in a temporary folder (in memory, if there is room).

    with Cluster(shards=2) as cluster:
        cluster.url("database")           # what --store takes
        cluster.kill(0); cluster.start(0) # kill -9, and the same data again on the same ports
        cluster.ask("SELECT 1")           # over HTTP, of shard 0

Run as a program it keeps a cluster up for somebody at a prompt until its standard input ends:
    clickhouse_cluster.py [SHARDS [FOLDER]]
"""
import base64
import contextlib
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request

from free_ports import free_ports

NAME = "wherefore_test"  # of the cluster in remote_servers
USER, PASSWORD = "default", ""

# Small: two of these run beside everything else on a two-core machine.
CONFIG = """<?xml version="1.0"?>
<yandex>
  <logger>
    <level>warning</level>
    <log>{folder}/server.log</log>
    <errorlog>{folder}/error.log</errorlog>
    <size>50M</size>
    <count>1</count>
  </logger>
  <http_port>{http}</http_port>
  <tcp_port>{tcp}</tcp_port>
  <interserver_http_port>{interserver}</interserver_http_port>
  <listen_host>127.0.0.1</listen_host>
  <max_connections>1024</max_connections>
  <keep_alive_timeout>10</keep_alive_timeout>
  <max_concurrent_queries>200</max_concurrent_queries>
  <uncompressed_cache_size>0</uncompressed_cache_size>
  <mark_cache_size>268435456</mark_cache_size>
  <path>{folder}/data/</path>
  <tmp_path>{folder}/tmp/</tmp_path>
  <user_files_path>{folder}/files/</user_files_path>
  <users_config>{folder}/users.xml</users_config>
  <default_profile>default</default_profile>
  <default_database>default</default_database>
  <timezone>UTC</timezone>
  <mlock_executable>false</mlock_executable>
  <remote_servers>
    <{name}>{shards}</{name}>
  </remote_servers>
  <builtin_dictionaries_reload_interval>3600</builtin_dictionaries_reload_interval>
  <max_session_timeout>60</max_session_timeout>
  <default_session_timeout>60</default_session_timeout>
  <merge_tree>
    <old_parts_lifetime>5</old_parts_lifetime>
  </merge_tree>
  <format_schema_path>{folder}/formats/</format_schema_path>
</yandex>
"""
USERS = """<?xml version="1.0"?>
<yandex>
  <profiles>
    <default>
      <max_memory_usage>1000000000</max_memory_usage>
      <use_uncompressed_cache>0</use_uncompressed_cache>
      <load_balancing>random</load_balancing>
      <max_threads>2</max_threads>
      {profile}
    </default>
    <readonly><readonly>1</readonly></readonly>
  </profiles>
  <users>
    <default>
      <password></password>
      <networks><ip>127.0.0.1</ip></networks>
      <profile>default</profile>
      <quota>default</quota>
    </default>
    <keeper>
      <password>{password}</password>
      <networks><ip>127.0.0.1</ip></networks>
      <profile>default</profile>
      <quota>default</quota>
    </keeper>
  </users>
  <quotas><default><interval><duration>3600</duration>
    <queries>0</queries><errors>0</errors><result_rows>0</result_rows><read_rows>0</read_rows>
    <execution_time>0</execution_time></interval></default></quotas>
</yandex>
"""
KEEPER_PASSWORD = "pass word:/@%"  # of the user `keeper`: everything that a URL must encode


def quick_folder():
    """A temporary folder in memory where there is room. MergeTree makes some eighty files an insert, and ext4 takes a
    millisecond for each once many have been deleted; kill -9 loses nothing here either."""
    memory = "/dev/shm"
    with contextlib.suppress(OSError):
        if shutil.disk_usage(memory).free > 2 << 30 and os.access(memory, os.W_OK):
            return tempfile.mkdtemp(prefix="wherefore-clickhouse-", dir=memory)
    return tempfile.mkdtemp(prefix="wherefore-clickhouse-")


class Cluster:
    def __init__(self, shards=2, folder=None, profile="", started=True):
        self.own = folder is None
        self.folder = folder or quick_folder()
        ports = free_ports(3 * shards)
        self.http = ports[:shards]
        tcp, interserver = ports[shards : 2 * shards], ports[2 * shards :]
        self.processes = [None] * shards
        listed = "".join(
            f"<shard><replica><host>127.0.0.1</host><port>{port}</port></replica></shard>" for port in tcp
        )
        for shard in range(shards):
            home = self.home(shard)
            for name in ("data", "tmp", "files", "formats"):
                os.makedirs(os.path.join(home, name), exist_ok=True)
            with open(os.path.join(home, "config.xml"), "w", encoding="utf-8") as file:
                file.write(
                    CONFIG.format(
                        folder=home,
                        http=self.http[shard],
                        tcp=tcp[shard],
                        interserver=interserver[shard],
                        name=NAME,
                        shards=listed,
                    )
                )
            with open(os.path.join(home, "users.xml"), "w", encoding="utf-8") as file:
                file.write(USERS.format(profile=profile, password=KEEPER_PASSWORD))
        if started:
            self.start_all()

    def start_all(self):
        try:
            for shard in range(len(self.processes)):
                self.launch(shard)
            for shard in range(len(self.processes)):
                self.await_ready(shard)
        except BaseException:
            self.close()
            raise

    def home(self, shard):
        return os.path.join(self.folder, f"shard{shard}")

    def launch(self, shard):
        home = self.home(shard)
        environment = {**os.environ, "LC_ALL": "C", "TZ": "UTC"}
        with open(os.path.join(home, "output.log"), "ab") as output:
            self.processes[shard] = subprocess.Popen(
                ["clickhouse-server", f"--config-file={home}/config.xml"],
                cwd=home,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                env=environment,
            )

    def await_ready(self, shard, seconds=60):
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            if self.processes[shard].poll() is not None:
                break
            with contextlib.suppress(OSError):
                if self.ask("SELECT 1", shard).strip() == b"1":
                    return
            time.sleep(0.05)
        raise RuntimeError(f"clickhouse-server {shard} does not answer:\n{self.log(shard)}")

    def log(self, shard):
        text = ""
        for name in ("output.log", "error.log"):
            with contextlib.suppress(OSError), open(os.path.join(self.home(shard), name), "rb") as file:
                text += file.read()[-4000:].decode(errors="replace")
        return text

    def start(self, shard):
        self.launch(shard)
        self.await_ready(shard)

    def stop(self, shard, how=signal.SIGTERM):
        process = self.processes[shard]
        if process is None or process.poll() is not None:
            return
        process.send_signal(how)
        try:
            process.wait(30)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()

    def kill(self, shard):
        self.stop(shard, signal.SIGKILL)

    def ask(self, sql, shard=0, **settings):
        """The bytes of the answer; urllib.error.HTTPError when the server refused."""
        query = "&".join(f"{name}={value}" for name, value in settings.items())
        request = urllib.request.Request(
            f"http://127.0.0.1:{self.http[shard]}/?{query}", data=sql.encode(), method="POST"
        )
        if USER:
            word = base64.b64encode(f"{USER}:{PASSWORD}".encode()).decode()
            request.add_header("Authorization", "Basic " + word)
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                return answer.read()
        except urllib.error.HTTPError as error:
            raise RuntimeError(error.read().decode(errors="replace")) from error

    def url(self, database="wherefore", user=None):
        hosts = ",".join(f"127.0.0.1:{port}" for port in self.http)
        who = f"{user}@" if user else ""
        tail = f"?cluster={NAME}" if len(self.http) > 1 else ""
        return f"clickhouse://{who}{hosts}/{database}{tail}"

    def close(self):
        for shard in range(len(self.processes)):
            self.stop(shard, signal.SIGKILL)
        if self.own:
            shutil.rmtree(self.folder, ignore_errors=True)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


def main():
    shards = int(sys.argv[1]) if len(sys.argv) > 1 else 2
    with Cluster(shards, sys.argv[2] if len(sys.argv) > 2 else None) as cluster:
        print(cluster.url(), flush=True)
        sys.stdin.read()


if __name__ == "__main__":
    main()
