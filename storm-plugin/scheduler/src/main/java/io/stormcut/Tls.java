package io.stormcut;

import java.io.IOException;
import java.io.InputStream;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.security.KeyFactory;
import java.security.KeyStore;
import java.security.PrivateKey;
import java.security.cert.CertStore;
import java.security.cert.Certificate;
import java.security.cert.CertificateFactory;
import java.security.cert.CollectionCertStoreParameters;
import java.security.cert.PKIXBuilderParameters;
import java.security.cert.X509CertSelector;
import java.security.cert.X509Certificate;
import java.security.spec.PKCS8EncodedKeySpec;
import java.util.Arrays;
import java.util.Base64;
import java.util.Collection;
import java.util.List;
import javax.net.ssl.CertPathTrustManagerParameters;
import javax.net.ssl.KeyManagerFactory;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLSocket;
import javax.net.ssl.TrustManagerFactory;

/**
 * TLS with the certificates of a folder, as `stormcut certs issue` makes it.
 *
 * <p>Its files are read for each request, as the auth file is: new certificates and revocations
 * need no restart of Nimbus.
 */
final class Tls {
  private static final char[] NO_PASSWORD = {};
  private static final List<String> PROTOCOLS = Arrays.asList("TLSv1.2", "TLSv1.3");
  private static final String BRAIN = "urn:stormcut:role:brain";
  /** Of a URI among the alternative names of a certificate's subject (RFC 5280). */
  private static final Integer URI = 6;

  private Tls() {}

  /**
   * The connection in TLS, once the other side has shown that it is a brain; its host's name is
   * not asked: the authority signs for nothing but this site's stormcut.
   *
   * @throws BrainTrouble if it has not, or the folder cannot be used
   */
  static Socket over(Socket connection, Path folder) throws BrainTrouble, IOException {
    SSLContext context;
    try {
      context = context(folder);
    } catch (IOException | GeneralSecurityException | RuntimeException unusable) {
      throw new BrainTrouble(ShimConfig.TLS_FOLDER + " " + folder + " cannot be used: " + unusable);
    }
    SSLSocket secured =
        (SSLSocket)
            context.getSocketFactory()
                .createSocket(connection, null, connection.getPort(), false);
    secured.setEnabledProtocols(
        Arrays.stream(secured.getSupportedProtocols())
            .filter(PROTOCOLS::contains)
            .toArray(String[]::new));
    secured.startHandshake();
    if (!isBrain((X509Certificate) secured.getSession().getPeerCertificates()[0])) {
      throw new IOException("its certificate is not of the role brain");
    }
    return secured;
  }

  private static SSLContext context(Path folder)
      throws BrainTrouble, IOException, GeneralSecurityException {
    KeyStore own = empty();
    Certificate[] chain = certificates(folder.resolve("certificate.pem"));
    String algorithm = chain[0].getPublicKey().getAlgorithm();
    own.setKeyEntry("own", key(folder.resolve("key.pem"), algorithm), NO_PASSWORD, chain);
    KeyManagerFactory keys =
        KeyManagerFactory.getInstance(KeyManagerFactory.getDefaultAlgorithm());
    keys.init(own, NO_PASSWORD);
    SSLContext context = SSLContext.getInstance("TLS");
    context.init(keys.getKeyManagers(), trust(folder).getTrustManagers(), null);
    return context;
  }

  /** In what the authority has signed and not revoked; nothing else is trusted. */
  private static TrustManagerFactory trust(Path folder)
      throws IOException, GeneralSecurityException {
    KeyStore authorities = empty();
    for (Certificate each : certificates(folder.resolve("ca.pem"))) {
      authorities.setCertificateEntry("" + authorities.size(), each);
    }
    PKIXBuilderParameters rules = new PKIXBuilderParameters(authorities, new X509CertSelector());
    try (InputStream lists = Files.newInputStream(folder.resolve("crl.pem"))) {
      rules.addCertStore(
          CertStore.getInstance(
              "Collection",
              new CollectionCertStoreParameters(x509().generateCRLs(lists))));
    }
    TrustManagerFactory trust = TrustManagerFactory.getInstance("PKIX");
    trust.init(new CertPathTrustManagerParameters(rules));
    return trust;
  }

  private static Certificate[] certificates(Path file)
      throws IOException, GeneralSecurityException {
    try (InputStream content = Files.newInputStream(file)) {
      return x509().generateCertificates(content).toArray(new Certificate[0]);
    }
  }

  private static PrivateKey key(Path file, String algorithm)
      throws BrainTrouble, IOException, GeneralSecurityException {
    AuthFile.ownersAlone(file, file.toString());
    String pem = new String(Files.readAllBytes(file), StandardCharsets.US_ASCII);
    byte[] key = Base64.getMimeDecoder().decode(pem.replaceAll("-----[A-Z ]+-----", ""));
    return KeyFactory.getInstance(algorithm).generatePrivate(new PKCS8EncodedKeySpec(key));
  }

  private static boolean isBrain(X509Certificate certificate) throws IOException {
    try {
      Collection<List<?>> names = certificate.getSubjectAlternativeNames();
      return names != null && names.contains(Arrays.asList(URI, BRAIN));
    } catch (GeneralSecurityException unreadable) {
      throw new IOException("its certificate cannot be read", unreadable);
    }
  }

  private static KeyStore empty() throws IOException, GeneralSecurityException {
    KeyStore store = KeyStore.getInstance("PKCS12");
    store.load(null, null);
    return store;
  }

  private static CertificateFactory x509() throws GeneralSecurityException {
    return CertificateFactory.getInstance("X.509");
  }
}
