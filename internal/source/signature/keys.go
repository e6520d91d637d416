package signature

import (
	"errors"
	"fmt"
	"strings"

	"github.com/ProtonMail/go-crypto/openpgp"
	"github.com/ProtonMail/go-crypto/openpgp/armor"
)

// mostKeys is how many keys are taken from one text.
const mostKeys = 100

// Keys are the OpenPGP public keys of an armoured text, each armoured by itself, by their ids of 16 digits.
func Keys(armoured string) (out map[string]string, err error) {
	// The parsers see what strangers wrote.
	defer func() {
		if recover() != nil {
			out, err = nil, errors.New("it cannot be read")
		}
	}()
	entities, err := openpgp.ReadArmoredKeyRing(strings.NewReader(armoured))
	if err != nil {
		return nil, errors.New("it cannot be read")
	}
	if len(entities) == 0 || len(entities) > mostKeys {
		return nil, fmt.Errorf("it has no key, or more than %d", mostKeys)
	}
	out = map[string]string{}
	for _, e := range entities {
		if e.PrivateKey != nil {
			return nil, errors.New("it has a private key, which nobody should have sent; make a new one")
		}
		var b strings.Builder
		w, err := armor.Encode(&b, openpgp.PublicKeyType, nil)
		if err != nil {
			return nil, fmt.Errorf("writing a key: %w", err)
		}
		if err := errors.Join(e.Serialize(w), w.Close()); err != nil {
			return nil, fmt.Errorf("writing a key: %w", err)
		}
		out[fmt.Sprintf("%016X", e.PrimaryKey.KeyId)] = b.String() + "\n"
	}
	return out, nil
}
