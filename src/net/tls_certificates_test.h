// For tests: certificates generated at run time.
#pragma once

#include <gtest/gtest.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <string>

namespace wf::net {

class TestCertificate {
 public:
  // Signed by `issuer`, else by itself. `alternative`: "IP:127.0.0.1", or "CA:TRUE" for one that signs.
  TestCertificate(const std::string& common_name, const std::string& alternative,
                  const TestCertificate* issuer = nullptr) {
    static std::atomic<long> serial{1};
    ASN1_INTEGER_set(X509_get_serialNumber(x509_), serial++);
    X509_gmtime_adj(X509_getm_notBefore(x509_), -60);
    X509_gmtime_adj(X509_getm_notAfter(x509_), 3600);
    X509_set_version(x509_, 2);
    X509_set_pubkey(x509_, key_);
    X509_NAME* name = X509_get_subject_name(x509_);
    X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC,
                               reinterpret_cast<const unsigned char*>(common_name.c_str()), -1, -1,
                               0);
    X509_set_issuer_name(x509_, issuer == nullptr ? name : X509_get_subject_name(issuer->x509_));
    const bool signs = alternative.rfind("CA:", 0) == 0;
    X509_EXTENSION* extension =
        X509V3_EXT_conf_nid(nullptr, nullptr, signs ? NID_basic_constraints : NID_subject_alt_name,
                            alternative.c_str());
    X509_add_ext(x509_, extension, -1);
    X509_EXTENSION_free(extension);
    X509_sign(x509_, issuer == nullptr ? key_ : issuer->key_, EVP_sha256());
  }
  ~TestCertificate() {
    X509_free(x509_);
    EVP_PKEY_free(key_);
  }
  TestCertificate(const TestCertificate&) = delete;
  TestCertificate& operator=(const TestCertificate&) = delete;

  void WriteCertificate(const std::string& path) const {
    FILE* file = fopen(path.c_str(), "w");
    ASSERT_NE(file, nullptr);
    PEM_write_X509(file, x509_);
    fclose(file);
  }
  void WriteKey(const std::string& path, const char* password = nullptr) const {
    FILE* file = fopen(path.c_str(), "w");
    ASSERT_NE(file, nullptr);
    fchmod(fileno(file), 0600);
    PEM_write_PrivateKey(file, key_, password == nullptr ? nullptr : EVP_aes_256_cbc(), nullptr, 0,
                         nullptr, const_cast<char*>(password));
    fclose(file);
  }
  X509* x509() const { return x509_; }
  EVP_PKEY* key() const { return key_; }

 private:
  EVP_PKEY* key_ = EVP_EC_gen("P-256");
  X509* x509_ = X509_new();
};

}  // namespace wf::net
