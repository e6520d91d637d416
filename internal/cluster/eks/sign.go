package eks

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
	"time"
)

// emptyPayload is the digest of a request without a body.
var emptyPayload = hex.EncodeToString(sha256.New().Sum(nil))

// signing is a GET to be signed in its query (AWS signature version 4), so that
// whoever has the address may send it for a while.
type signing struct {
	address url.URL
	query   url.Values
	// headers must be sent along as they are here.
	headers         map[string]string
	region, service string
	payload         string
	expires         time.Duration
}

const stamp = "20060102T150405Z"

// presign is the address with the signature in it.
func presign(s signing, by Credentials, now time.Time) string {
	now = now.UTC()
	scope := strings.Join([]string{now.Format("20060102"), s.region, s.service, "aws4_request"}, "/")
	headers := map[string]string{"host": s.address.Host}
	for name, value := range s.headers {
		headers[strings.ToLower(name)] = strings.TrimSpace(value)
	}
	names := slices.Sorted(maps.Keys(headers))
	query := maps.Clone(s.query)
	if query == nil {
		query = url.Values{}
	}
	query.Set("X-Amz-Algorithm", "AWS4-HMAC-SHA256")
	query.Set("X-Amz-Credential", by.AccessKeyID+"/"+scope)
	query.Set("X-Amz-Date", now.Format(stamp))
	query.Set("X-Amz-Expires", fmt.Sprint(int(s.expires.Seconds())))
	query.Set("X-Amz-SignedHeaders", strings.Join(names, ";"))
	if token := by.SessionToken.Reveal(); token != "" {
		query.Set("X-Amz-Security-Token", token)
	}
	// url.Values.Encode sorts by key, as the signature wants it, and has a plus
	// for a space, which it does not.
	encoded := strings.ReplaceAll(query.Encode(), "+", "%20")
	path := s.address.EscapedPath()
	if path == "" {
		path = "/"
	}
	var canonical strings.Builder
	for _, name := range names {
		canonical.WriteString(name + ":" + headers[name] + "\n")
	}
	request := strings.Join([]string{"GET", path, encoded, canonical.String(), strings.Join(names, ";"), s.payload}, "\n")
	sum := sha256.Sum256([]byte(request))
	text := strings.Join([]string{"AWS4-HMAC-SHA256", now.Format(stamp), scope, hex.EncodeToString(sum[:])}, "\n")
	key := signingKey(by.SecretAccessKey.Reveal(), now.Format("20060102"), s.region, s.service)
	return s.address.Scheme + "://" + s.address.Host + path + "?" + encoded + "&X-Amz-Signature=" + hex.EncodeToString(mac(key, text))
}

// signingKey is the key for one day, region and service.
func signingKey(secret, day, region, service string) []byte {
	key := []byte("AWS4" + secret)
	for _, part := range []string{day, region, service, "aws4_request"} {
		key = mac(key, part)
	}
	return key
}

func mac(key []byte, text string) []byte {
	h := hmac.New(sha256.New, key)
	_, _ = h.Write([]byte(text))
	return h.Sum(nil)
}
