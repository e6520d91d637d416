package signature_test

import (
	"bytes"
	"crypto/ed25519"
	"crypto/rand"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/ProtonMail/go-crypto/openpgp"
	"github.com/ProtonMail/go-crypto/openpgp/armor"
	"github.com/ProtonMail/go-crypto/openpgp/packet"
	"github.com/hiddeco/sshsig"
	"golang.org/x/crypto/ssh"

	"github.com/towline-cd/towline/internal/source/signature"
)

// signer makes signatures and knows the key to check them by.
type signer struct {
	public string
	id     string
	sign   func(payload string) string
}

func pgpSigner(t *testing.T, config *packet.Config) signer {
	t.Helper()
	entity, err := openpgp.NewEntity("Ada", "", "ada@example.com", config)
	if err != nil {
		t.Fatal(err)
	}
	var public bytes.Buffer
	w, err := armor.Encode(&public, openpgp.PublicKeyType, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := entity.Serialize(w); err != nil {
		t.Fatal(err)
	}
	_ = w.Close()
	return signer{public: public.String(), id: fmt.Sprintf("%016X", entity.PrimaryKey.KeyId), sign: func(payload string) string {
		var out bytes.Buffer
		if err := openpgp.ArmoredDetachSign(&out, entity, strings.NewReader(payload), config); err != nil {
			t.Fatal(err)
		}
		return out.String()
	}}
}

func sshSigner(t *testing.T, namespace string) signer {
	t.Helper()
	_, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	private, err := ssh.NewSignerFromKey(key)
	if err != nil {
		t.Fatal(err)
	}
	public := string(ssh.MarshalAuthorizedKey(private.PublicKey()))
	return signer{public: public, id: ssh.FingerprintSHA256(private.PublicKey()), sign: func(payload string) string {
		made, err := sshsig.Sign(strings.NewReader(payload), private, sshsig.HashSHA512, namespace)
		if err != nil {
			t.Fatal(err)
		}
		return string(sshsig.Armor(made))
	}}
}

const (
	plain = "tree 4b825dc642cb6eb9a060e54bf8d69288fbee4904\nparent 1111111111111111111111111111111111111111\n" +
		"author Ada <ada@example.com> 1714564800 +0000\ncommitter Ada <ada@example.com> 1714564800 +0000\n"
	message = "\nChange some files.\n"
)

// commit writes a commit with its signature, as git does.
func commit(headers, message, signature string) string {
	if signature == "" {
		return headers + message
	}
	return headers + "gpgsig " + strings.ReplaceAll(strings.TrimSpace(signature), "\n", "\n ") + "\n" + message
}

func TestCommits(t *testing.T) {
	pgp, other, key := pgpSigner(t, nil), pgpSigner(t, nil), sshSigner(t, "git")
	file := sshSigner(t, "file")
	past := time.Now().Add(-48 * time.Hour)
	expired := pgpSigner(t, &packet.Config{KeyLifetimeSecs: 3600, Time: func() time.Time { return past }})
	keys := map[string]string{"ada": pgp.public, "bob": key.public, "file": file.public, "old": expired.public, "broken": "no key"}
	tree2 := strings.Replace(plain, "\nparent", "\ntree 5555555555555555555555555555555555555555\nparent", 1)
	for name, test := range map[string]struct {
		data string
		by   []string // who has to have signed it
		good bool
		says string
	}{
		"OpenPGP":                      {commit(plain, message, pgp.sign(plain+message)), []string{pgp.id}, true, ""},
		"OpenPGP, small letters":       {commit(plain, message, pgp.sign(plain+message)), []string{"0x" + strings.ToLower(pgp.id)}, true, ""},
		"OpenPGP, by its name":         {commit(plain, message, pgp.sign(plain+message)), []string{"ada"}, true, ""},
		"OpenPGP, too short an id":     {commit(plain, message, pgp.sign(plain+message)), []string{pgp.id[8:]}, false, ""},
		"OpenPGP, nobody is listed":    {commit(plain, message, pgp.sign(plain+message)), nil, false, ""},
		"SSH":                          {commit(plain, message, key.sign(plain+message)), []string{key.id}, true, ""},
		"SSH, by its name":             {commit(plain, message, key.sign(plain+message)), []string{"bob"}, true, ""},
		"SSH, another is listed":       {commit(plain, message, key.sign(plain+message)), []string{pgp.id}, false, ""},
		"SSH, for files":               {commit(plain, message, file.sign(plain+message)), []string{file.id}, false, "namespace"},
		"not signed":                   {commit(plain, message, ""), []string{pgp.id}, false, "not signed"},
		"unknown":                      {commit(plain, message, other.sign(plain+message)), []string{other.id}, false, other.id + ", which is not known"},
		"expired":                      {commit(plain, message, expired.sign(plain+message)), []string{expired.id}, false, "not valid"},
		"another message":              {commit(plain, "\nOther.\n", pgp.sign(plain+message)), []string{pgp.id}, false, "not valid"},
		"another tree":                 {commit(strings.Replace(plain, "4b825", "5b825", 1), message, pgp.sign(plain+message)), []string{pgp.id}, false, "not valid"},
		"another message, SSH":         {commit(plain, "\nOther.\n", key.sign(plain+message)), []string{key.id}, false, "not valid"},
		"two trees":                    {commit(tree2, message, pgp.sign(tree2+message)), []string{pgp.id}, false, `"tree" twice`},
		"two trees, one of them later": {commit(plain+"tree 5555555555555555555555555555555555555555\n", message, pgp.sign(plain+message)), []string{pgp.id}, false, "twice"},
		"two signatures":               {commit(plain+"gpgsig x\n", message, pgp.sign(plain+message)), []string{pgp.id}, false, `"gpgsig" twice`},
		"a signature for other hashes": {commit(plain+"gpgsig-sha256 x\n", message, pgp.sign(plain+message)), []string{pgp.id}, false, "two kinds"},
		"the tree is not first":        {commit("x y\n"+plain, message, pgp.sign("x y\n"+plain+message)), []string{pgp.id}, false, "header 1"},
		"a header over several lines":  {commit(strings.Replace(plain, "parent", " goes on\nparent", 1), message, ""), nil, false, "several lines"},
		"cut short":                    {plain, nil, false, "no message"},
		"empty":                        {"", nil, false, "no message"},
		"a NUL":                        {strings.Replace(plain, "Ada", "A\x00a", 1) + message, nil, false, "cut short"},
		"an odd parent":                {strings.Replace(plain, "parent 1", "parent x", 1) + message, nil, false, "not a SHA"},
		"X.509":                        {commit(plain, message, "-----BEGIN SIGNED MESSAGE-----\nx\n-----END SIGNED MESSAGE-----"), []string{pgp.id}, false, "X.509"},
		"nonsense":                     {commit(plain, message, "-----BEGIN PGP SIGNATURE-----\n\nnonsense\n-----END PGP SIGNATURE-----"), []string{pgp.id}, false, "not valid"},
		"a signed header":              {commit(plain+"encoding ISO-8859-1\n", message, pgp.sign(plain+"encoding ISO-8859-1\n"+message)), []string{pgp.id}, true, ""},
		"a header added later":         {commit(plain+"encoding ISO-8859-1\n", message, pgp.sign(plain+message)), []string{pgp.id}, false, "not valid"},
	} {
		t.Run(name, func(t *testing.T) {
			var found signature.Signature
			parsed, err := signature.ParseCommit([]byte(test.data))
			said := fmt.Sprint(err)
			if err == nil {
				found = parsed.Check(keys, time.Now())
				said = found.Reason
			}
			if found.By(test.by) != test.good || !strings.Contains(said, test.says) {
				t.Errorf("By(%v) = %v, it is %+v, %v; want %v, %q", test.by, found.By(test.by), found, err, test.good, test.says)
			}
		})
	}
}

func TestTags(t *testing.T) {
	pgp, key := pgpSigner(t, nil), sshSigner(t, "git")
	keys := map[string]string{"ada": pgp.public, "bob": key.public}
	tag := "object 1111111111111111111111111111111111111111\ntype commit\ntag v1\ntagger Ada <ada@example.com> 1714564800 +0000\n\nRelease.\n"
	for name, test := range map[string]struct {
		data string
		good bool
		says string
	}{
		"OpenPGP":      {tag + pgp.sign(tag), true, ""},
		"SSH":          {tag + key.sign(tag), true, ""},
		"not signed":   {tag, false, "not signed"},
		"re-pointed":   {strings.Replace(tag, "1111", "2222", 1) + pgp.sign(tag), false, "not valid"},
		"renamed":      {strings.Replace(tag, "v1", "v2", 1) + pgp.sign(tag), false, "not valid"},
		"of a tree":    {strings.Replace(tag, "type commit", "type tree", 1), false, "not the tag of a commit"},
		"two objects":  {"object 2222222222222222222222222222222222222222\n" + tag, false, "twice"},
		"more follows": {tag + pgp.sign(tag) + "\nand more\n", false, "more follows"},
		"signed twice": {tag + pgp.sign(tag) + "\n" + pgp.sign(tag), false, "not valid"},
	} {
		var found signature.Signature
		parsed, err := signature.ParseTag([]byte(test.data))
		said := fmt.Sprint(err)
		if err == nil {
			found = parsed.Check(keys, time.Now())
			said = found.Reason
		}
		if found.By([]string{"ada", "bob"}) != test.good || !strings.Contains(said, test.says) {
			t.Errorf("%s: %+v, %v", name, found, err)
		}
	}
}

func TestSeals(t *testing.T) {
	for message, want := range map[string]bool{
		"\nSeal.\n\nArgocd-gpg-seal: reviewed\nSigned-off-by: Ada\n": true,
		"\nSeal.\n\nargocd-GPG-seal: reviewed\n":                     true,
		"\nNo reason.\n\nArgocd-gpg-seal:\n":                         false,
		"\nTalks of it.\n\nArgocd-gpg-seal: x\n\nLater words.\n":     false,
		"\nNothing.\n": false,
	} {
		parsed, err := signature.ParseCommit([]byte(plain + message))
		if err != nil || parsed.Sealed != want {
			t.Errorf("%q: %v, %v", message, parsed.Sealed, err)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(plain + message))
	f.Add([]byte("object 1\ntype commit\n\n-----BEGIN SSH SIGNATURE-----\n"))
	f.Fuzz(func(_ *testing.T, data []byte) {
		if c, err := signature.ParseCommit(data); err == nil {
			c.Check(nil, time.Unix(0, 0))
		}
		if t, err := signature.ParseTag(data); err == nil {
			t.Check(nil, time.Unix(0, 0))
		}
		signature.Check(nil, string(data), nil, time.Unix(0, 0))
	})
}
