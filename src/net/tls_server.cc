#include "net/tls_server.h"

#include <fmt/format.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "net/tls_context.h"

namespace wf::net {
namespace {

namespace ssl = boost::asio::ssl;

// Of TLS 1.2: forward secrecy and authenticated encryption only. TLS 1.3 has nothing else.
constexpr char kCiphers[] = "ECDHE+AESGCM:ECDHE+CHACHA20";

std::string LastError() {
  unsigned long code = ERR_get_error();
  for (unsigned long next; code != 0 && (next = ERR_get_error()) != 0;) code = next;
  if (code == 0) return "unknown reason";
  if (ERR_GET_REASON(code) == PEM_R_NO_START_LINE) return "it holds no such PEM block";
  const char* reason = ERR_reason_error_string(code);
  return reason != nullptr ? reason : fmt::format("OpenSSL error {:#x}", code);
}

Status CheckReadable(const char* flag, const std::string& path) {
  struct stat facts {};
  if (::stat(path.c_str(), &facts) == 0 && S_ISDIR(facts.st_mode))
    return EnvironmentError(fmt::format("{} {}: it is a directory", flag, path), "give a PEM file");
  if (::access(path.c_str(), R_OK) == 0) return {};
  return EnvironmentError(fmt::format("{} {}: {}", flag, path, strerror(errno)),
                          "give a PEM file that this user can read");
}

std::string FingerprintOf(const TlsFiles& files) {
  std::string out;
  for (const std::string* path : {&files.certificate, &files.key, &files.client_ca}) {
    struct stat facts {};
    if (path->empty() || ::stat(path->c_str(), &facts) != 0) {
      out += "- ";
      continue;
    }
    out += fmt::format("{}.{}.{}.{} ", facts.st_ino, facts.st_size, facts.st_mtim.tv_sec,
                       facts.st_mtim.tv_nsec);
  }
  return out;
}

int ChooseProtocol(SSL*, const unsigned char** out, unsigned char* out_size,
                   const unsigned char* offered, unsigned offered_size, void* ours) {
  const auto* mine = static_cast<const unsigned char*>(ours);  // one, as ALPN writes it
  const unsigned mine_size = mine[0] + 1u;
  unsigned char* chosen = nullptr;
  if (SSL_select_next_proto(&chosen, out_size, mine, mine_size, offered, offered_size) !=
      OPENSSL_NPN_NEGOTIATED)
    return SSL_TLSEXT_ERR_ALERT_FATAL;
  *out = chosen;
  return SSL_TLSEXT_ERR_OK;
}

// An encrypted key would make OpenSSL ask on the terminal.
int NoPassword(char*, int, int, void*) { return 0; }

Result<std::shared_ptr<ssl::context>> MakeContext(const TlsFiles& files, TlsProtocol protocol) {
  ERR_clear_error();
  auto made = std::make_shared<ssl::context>(ssl::context::tls_server);
  SSL_CTX* context = made->native_handle();
  SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION);
  SSL_CTX_set_max_proto_version(context, 0);
  SSL_CTX_set_options(
      context, SSL_OP_NO_COMPRESSION | SSL_OP_NO_RENEGOTIATION | SSL_OP_CIPHER_SERVER_PREFERENCE);
  SSL_CTX_set_mode(context, SSL_MODE_RELEASE_BUFFERS);  // 34 KB less an idle connection
  if (SSL_CTX_set_cipher_list(context, kCiphers) != 1)
    return EnvironmentError("TLS: " + LastError(), "this OpenSSL lacks modern ciphers");
  SSL_CTX_set_default_passwd_cb(context, &NoPassword);
  if (SSL_CTX_use_certificate_chain_file(context, files.certificate.c_str()) != 1)
    return BadInput(fmt::format("--tls-cert {}: {}", files.certificate, LastError()),
                    "give a PEM file with the certificate first and its chain behind it");
  if (SSL_CTX_use_PrivateKey_file(context, files.key.c_str(), SSL_FILETYPE_PEM) != 1) {
    const unsigned long error = ERR_peek_last_error();
    const bool mismatch = ERR_GET_REASON(error) == X509_R_KEY_VALUES_MISMATCH ||
                          ERR_GET_REASON(error) == X509_R_KEY_TYPE_MISMATCH;
    if (mismatch)
      return BadInput(fmt::format("--tls-key {}: it is not the key of the certificate in {}",
                                  files.key, files.certificate),
                      "give the two files that were made together");
    return BadInput(fmt::format("--tls-key {}: {}", files.key, LastError()),
                    "give a PEM file with a private key that has no password");
  }
  if (SSL_CTX_check_private_key(context) != 1)
    return BadInput(fmt::format("--tls-key {}: it is not the key of the certificate in {}",
                                files.key, files.certificate),
                    "give the two files that were made together");
  static const unsigned char kHttp1[] = "\x08http/1.1";
  static const unsigned char kHttp2[] = "\x02h2";
  SSL_CTX_set_alpn_select_cb(
      context, &ChooseProtocol,
      const_cast<unsigned char*>(protocol == TlsProtocol::kHttp2 ? kHttp2 : kHttp1));
  static const unsigned char kSessions[] = "wherefore";
  SSL_CTX_set_session_id_context(context, kSessions, sizeof kSessions - 1);
  if (files.client_ca.empty()) return made;
  STACK_OF(X509_NAME)* names = SSL_load_client_CA_file(files.client_ca.c_str());
  if (names == nullptr || sk_X509_NAME_num(names) == 0 ||
      SSL_CTX_load_verify_locations(context, files.client_ca.c_str(), nullptr) != 1) {
    const std::string why = LastError();
    sk_X509_NAME_pop_free(names, X509_NAME_free);
    return BadInput(fmt::format("--tls-client-ca {}: {}", files.client_ca, why),
                    "give a PEM file with the CA's certificate");
  }
  SSL_CTX_set_client_CA_list(context, names);  // takes them
  SSL_CTX_set_verify(context, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, nullptr);
  return made;
}

TlsKeys::Facts FactsOf(const TlsFiles& files, SSL_CTX* context) {
  TlsKeys::Facts facts;
  const X509* certificate = SSL_CTX_get0_certificate(context);
  BIO* text = BIO_new(BIO_s_mem());
  X509_NAME_print_ex(text, X509_get_subject_name(certificate), 0, XN_FLAG_RFC2253);
  char* bytes = nullptr;
  const long size = BIO_get_mem_data(text, &bytes);
  if (size > 0) facts.subject.assign(bytes, static_cast<size_t>(size));
  BIO_free(text);
  tm expires{};
  if (ASN1_TIME_to_tm(X509_get0_notAfter(certificate), &expires) == 1)
    facts.expires_s = timegm(&expires);
  struct stat key {};
  facts.key_public = ::stat(files.key.c_str(), &key) == 0 && (key.st_mode & S_IROTH) != 0;
  return facts;
}

Result<TlsKeys::Impl::Loaded> LoadFiles(const TlsFiles& files) {
  TlsKeys::Impl::Loaded loaded;
  loaded.fingerprint = FingerprintOf(files);  // before: a change while we read is seen next time
  WF_TRY(CheckReadable("--tls-cert", files.certificate));
  WF_TRY(CheckReadable("--tls-key", files.key));
  if (!files.client_ca.empty()) WF_TRY(CheckReadable("--tls-client-ca", files.client_ca));
  WF_ASSIGN(loaded.http1, MakeContext(files, TlsProtocol::kHttp1));
  WF_ASSIGN(loaded.http2, MakeContext(files, TlsProtocol::kHttp2));
  loaded.facts = FactsOf(files, loaded.http1->native_handle());
  return loaded;
}

}  // namespace

TlsKeys::TlsKeys() = default;
TlsKeys::~TlsKeys() = default;

Result<std::shared_ptr<TlsKeys>> TlsKeys::Load(const TlsFiles& files) {
  if (files.certificate.empty() || files.key.empty())
    return BadInput(files.certificate.empty() && files.key.empty()
                        ? "--tls-client-ca: there is no TLS without --tls-cert and --tls-key"
                    : files.certificate.empty() ? "--tls-key: --tls-cert is missing"
                                                : "--tls-cert: --tls-key is missing",
                    "give both");
  std::shared_ptr<TlsKeys> keys(new TlsKeys);
  keys->impl_ = std::make_shared<Impl>(files);
  WF_ASSIGN(keys->impl_->loaded, LoadFiles(files));
  return keys;
}

Result<bool> TlsKeys::Reload(When when) {
  if (when == When::kIfChanged) {
    const std::string now = FingerprintOf(impl_->files);
    const std::lock_guard lock(impl_->mutex);
    if (now == impl_->loaded.fingerprint) return false;
  }
  auto loaded = LoadFiles(impl_->files);
  const std::lock_guard lock(impl_->mutex);
  if (!loaded.ok()) {
    // Logged once for each change, not at every check.
    impl_->loaded.fingerprint = FingerprintOf(impl_->files);
    return loaded.error();
  }
  impl_->loaded = std::move(*loaded);
  return true;
}

TlsKeys::Facts TlsKeys::facts() const {
  const std::lock_guard lock(impl_->mutex);
  return impl_->loaded.facts;
}

const TlsCounters& TlsKeys::counters() const { return impl_->counters; }
bool TlsKeys::wants_client_certificates() const { return !impl_->files.client_ca.empty(); }

std::string TlsClientName(SSL* ssl) {
  X509* certificate = SSL_get0_peer_certificate(ssl);
  if (certificate == nullptr || SSL_get_verify_result(ssl) != X509_V_OK) return {};
  X509_NAME* subject = X509_get_subject_name(certificate);
  const int at = X509_NAME_get_index_by_NID(subject, NID_commonName, -1);
  if (at < 0) return {};
  unsigned char* text = nullptr;
  const int size =
      ASN1_STRING_to_UTF8(&text, X509_NAME_ENTRY_get_data(X509_NAME_get_entry(subject, at)));
  if (size < 0) return {};
  std::string name(reinterpret_cast<const char*>(text), static_cast<size_t>(size));
  OPENSSL_free(text);
  // A name that contains a zero byte or a line break is rejected.
  return name.find_first_of(std::string_view("\0\r\n", 3)) == std::string::npos ? name : "";
}

}  // namespace wf::net
