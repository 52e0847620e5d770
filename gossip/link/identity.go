package link

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"crypto/ed25519"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"errors"
	"fmt"
	"math/big"
	"slices"
	"time"

	"github.com/cronring/cronring/gossip/wire"
)

// identity is this member's certificate, and the authorities that it trusts, by one set of keys.
type identity struct {
	leaf tls.Certificate
	keys []authority // primary first
}

// authority signs the certificates of one key of the ring.
type authority struct {
	public ed25519.PublicKey
	seal   cipher.AEAD // encrypts the member IDs in its certificates
}

// certificate is the content of a certificate that a member showed.
type certificate struct {
	id        string
	authority string
}

func newIdentity(id, ring string, keys [][]byte) (*identity, error) {
	if len(keys) == 0 {
		return nil, errors.New("the ring has no key")
	}
	i := &identity{}
	for n, key := range keys {
		private, seal, err := derive(key, ring)
		if err != nil {
			return nil, err
		}
		i.keys = append(i.keys, authority{private.Public().(ed25519.PublicKey), seal})
		if n == 0 {
			if i.leaf, err = issue(id, private, seal); err != nil {
				return nil, err
			}
		}
	}
	return i, nil
}

// derive returns the authority of a key. The texts of its purposes are part of the protocol.
func derive(key []byte, ring string) (ed25519.PrivateKey, cipher.AEAD, error) {
	seed, err := hkdf.Key(sha256.New, key, nil, "cronring link authority 1\x00"+ring, ed25519.SeedSize)
	if err != nil {
		return nil, nil, fmt.Errorf("derive authority: %w", err)
	}
	sealing, err := hkdf.Key(sha256.New, key, nil, "cronring link name 1\x00"+ring, 32)
	if err != nil {
		return nil, nil, fmt.Errorf("derive seal: %w", err)
	}
	block, err := aes.NewCipher(sealing)
	if err != nil {
		return nil, nil, fmt.Errorf("derive seal: %w", err)
	}
	seal, err := cipher.NewGCMWithRandomNonce(block)
	if err != nil {
		return nil, nil, fmt.Errorf("derive seal: %w", err)
	}
	return ed25519.NewKeyFromSeed(seed), seal, nil
}

// issue makes this member's certificate, with a private key of its own.
func issue(id string, by ed25519.PrivateKey, seal cipher.AEAD) (tls.Certificate, error) {
	public, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return tls.Certificate{}, fmt.Errorf("make certificate: %w", err)
	}
	template := x509.Certificate{
		SerialNumber: big.NewInt(1),
		Subject:      pkix.Name{CommonName: base64.RawURLEncoding.EncodeToString(seal.Seal(nil, nil, []byte(id), nil))},
		NotBefore:    time.Unix(0, 0),
		NotAfter:     time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC), // RFC 5280, 4.1.2.5: none
	}
	der, err := x509.CreateCertificate(rand.Reader, &template, &x509.Certificate{}, public, by)
	if err != nil {
		return tls.Certificate{}, fmt.Errorf("make certificate: %w", err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: private}, nil
}

// verify reads the certificate that a peer showed. The handshake has proven that the peer
// has the private key.
func (i *identity) verify(s tls.ConnectionState, shown *certificate) error {
	if len(s.PeerCertificates) != 1 {
		return errors.New("it shows no certificate, or several")
	}
	c := s.PeerCertificates[0]
	if c.PublicKeyAlgorithm != x509.Ed25519 || c.SignatureAlgorithm != x509.PureEd25519 {
		return errors.New("its certificate has another signature algorithm")
	}
	for _, a := range i.keys {
		if !ed25519.Verify(a.public, c.RawTBSCertificate, c.Signature) {
			continue
		}
		id, err := a.open(c.Subject.CommonName)
		if err != nil {
			return err
		}
		*shown = certificate{id, string(a.public)}
		return nil
	}
	return errors.New("it has no key of this ring")
}

// open decrypts the member ID of a certificate that the authority signed.
func (a *authority) open(name string) (string, error) {
	sealed, err := base64.RawURLEncoding.DecodeString(name)
	if err != nil {
		return "", fmt.Errorf("read member ID: %w", err)
	}
	id, err := a.seal.Open(nil, nil, sealed, nil)
	if err != nil {
		return "", fmt.Errorf("read member ID: %w", err)
	}
	return string(id), wire.CheckID(string(id))
}

// trusts reports whether an authority belongs to a key of the ring.
func (i *identity) trusts(public string) bool {
	for _, a := range i.keys {
		if bytes.Equal(a.public, []byte(public)) {
			return true
		}
	}
	return false
}

// client configures a connection to one of some services. TLS's own check of names and chains does not
// apply: verify checks the peer, on each connection, because none is resumed.
func (i *identity) client(services []string, shown *certificate) *tls.Config {
	return &tls.Config{
		MinVersion:         tls.VersionTLS13,
		Certificates:       []tls.Certificate{i.leaf},
		NextProtos:         services,
		InsecureSkipVerify: true,
		VerifyConnection: func(s tls.ConnectionState) error {
			if !slices.Contains(services, s.NegotiatedProtocol) {
				return errors.New("it does not offer " + services[0])
			}
			return i.verify(s, shown)
		},
	}
}

// server configures accepted connections.
func (i *identity) server(services []string, shown *certificate) *tls.Config {
	return &tls.Config{
		MinVersion:             tls.VersionTLS13,
		Certificates:           []tls.Certificate{i.leaf},
		NextProtos:             services,
		ClientAuth:             tls.RequireAnyClientCert,
		SessionTicketsDisabled: true,
		VerifyConnection: func(s tls.ConnectionState) error {
			if s.NegotiatedProtocol == "" {
				return errors.New("it does not name a service")
			}
			return i.verify(s, shown)
		},
	}
}
