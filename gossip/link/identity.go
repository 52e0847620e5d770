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
	"time"
)

// identity is what this member shows and whom it trusts, of one set of keys.
type identity struct {
	leaf tls.Certificate
	keys []authority // primary first
}

// authority is what a key of the ring makes.
type authority struct {
	public ed25519.PublicKey
	seal   cipher.AEAD // of the IDs in its certificates
}

// peerage is what a certificate says of the member that showed it.
type peerage struct {
	id        string
	authority string
}

func newIdentity(id, ring string, keys [][]byte) (*identity, error) {
	if len(keys) == 0 || len(keys) > mostKeys {
		return nil, fmt.Errorf("the ring has %d keys, wants 1 to %d", len(keys), mostKeys)
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

// derive makes an authority of a key. The purposes are part of the protocol.
func derive(key []byte, ring string) (ed25519.PrivateKey, cipher.AEAD, error) {
	if len(key) != keyBytes {
		return nil, nil, fmt.Errorf("a key of the ring has %d bytes, wants %d", len(key), keyBytes)
	}
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

// issue makes this member's certificate, with a key that nobody else has.
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

// verify says whose certificate was shown. That the peer has its private key
// was proven by the handshake.
func (i *identity) verify(s tls.ConnectionState, who *peerage) error {
	if len(s.PeerCertificates) != 1 {
		return errors.New("it does not show one certificate")
	}
	c := s.PeerCertificates[0]
	if c.PublicKeyAlgorithm != x509.Ed25519 || c.SignatureAlgorithm != x509.PureEd25519 {
		return errors.New("its certificate is of another kind")
	}
	for _, a := range i.keys {
		if !ed25519.Verify(a.public, c.RawTBSCertificate, c.Signature) {
			continue
		}
		id, err := a.open(c.Subject.CommonName)
		if err != nil {
			return err
		}
		*who = peerage{id, string(a.public)}
		return nil
	}
	return errors.New("it has no key of this ring")
}

// open reads the ID of a certificate that the authority signed.
func (a *authority) open(name string) (string, error) {
	sealed, err := base64.RawURLEncoding.DecodeString(name)
	if err != nil {
		return "", fmt.Errorf("read member ID: %w", err)
	}
	id, err := a.seal.Open(nil, nil, sealed, nil)
	if err != nil {
		return "", fmt.Errorf("read member ID: %w", err)
	}
	return string(id), CheckID(string(id))
}

// trusts says whether an authority is of a key that the ring has.
func (i *identity) trusts(public string) bool {
	for _, a := range i.keys {
		if bytes.Equal(a.public, []byte(public)) {
			return true
		}
	}
	return false
}

// client is how to greet a service. The names and chains that TLS would check
// are not what makes a member: verify is, and runs on each connection, as none
// is resumed.
func (i *identity) client(service string, who *peerage) *tls.Config {
	return &tls.Config{
		MinVersion:         tls.VersionTLS13,
		Certificates:       []tls.Certificate{i.leaf},
		NextProtos:         []string{service},
		InsecureSkipVerify: true,
		VerifyConnection: func(s tls.ConnectionState) error {
			if s.NegotiatedProtocol != service {
				return errors.New("it does not offer " + service)
			}
			return i.verify(s, who)
		},
	}
}

// server is how to be greeted.
func (i *identity) server(services []string, who *peerage) *tls.Config {
	return &tls.Config{
		MinVersion:             tls.VersionTLS13,
		Certificates:           []tls.Certificate{i.leaf},
		NextProtos:             services,
		ClientAuth:             tls.RequireAnyClientCert,
		SessionTicketsDisabled: true,
		VerifyConnection: func(s tls.ConnectionState) error {
			if s.NegotiatedProtocol == "" {
				return errors.New("it names no service")
			}
			return i.verify(s, who)
		},
	}
}
