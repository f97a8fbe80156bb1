package main

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"os"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/sasl"
	"github.com/twmb/franz-go/pkg/sasl/oauth"
	"github.com/twmb/franz-go/pkg/sasl/plain"
	"github.com/twmb/franz-go/pkg/sasl/scram"
)

// Login is how a client of a SASL_SSL listener connects. CA: file of the authority's certificate.
type Login struct {
	CA        string `json:"ca"`
	Mechanism string `json:"mechanism"`
	User      string `json:"user"`
	Password  string `json:"password"`
	Token     string `json:"token"`
}

func (login *Login) options() ([]kgo.Opt, error) {
	if login == nil {
		return nil, nil
	}
	authority, err := os.ReadFile(login.CA)
	if err != nil {
		return nil, err
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(authority) {
		return nil, fmt.Errorf("%s: no certificate", login.CA)
	}
	mechanism, err := login.mechanism()
	if err != nil {
		return nil, err
	}
	return []kgo.Opt{kgo.DialTLSConfig(&tls.Config{RootCAs: roots}), kgo.SASL(mechanism)}, nil
}

func (login *Login) mechanism() (sasl.Mechanism, error) {
	known := scram.Auth{User: login.User, Pass: login.Password}
	switch login.Mechanism {
	case "OAUTHBEARER":
		return oauth.Auth{Token: login.Token}.AsMechanism(), nil
	case "PLAIN":
		return plain.Auth{User: login.User, Pass: login.Password}.AsMechanism(), nil
	case "SCRAM-SHA-256":
		return known.AsSha256Mechanism(), nil
	case "SCRAM-SHA-512":
		return known.AsSha512Mechanism(), nil
	}
	return nil, fmt.Errorf("unknown mechanism %s", login.Mechanism)
}
