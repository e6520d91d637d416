package api_test

import (
	"bytes"
	"compress/gzip"
	"crypto/tls"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

const (
	// resets are streams that are opened and taken back at once.
	resets = 5000
	// mostAttacked is what all attacks may add to the memory of the server, in MiB.
	mostAttacked = 96
)

// TestAttacksOnTheWireAreBounded: headers without end, streams that are taken back at once, bodies that unpack to more than
// anybody has, frames and messages that are none. The server goes on for everybody else, and keeps its size.
func TestAttacksOnTheWireAreBounded(t *testing.T) {
	s := newStage(t)
	s.start()
	before := s.resident()
	for name, attack := range map[string]func(*testing.T, *stage){
		"headers": hugeHeaders, "resets": rapidResets, "bomb": packedBody, "frames": noFrames, "message": noMessage,
	} {
		t.Run(name, func(t *testing.T) { attack(t, s) })
		if code, body := s.ask(http.MethodGet, "/api/v1/applications", s.token, ""); code != http.StatusOK {
			t.Fatalf("after %s nobody is answered: %d %s", name, code, body)
		}
	}
	after := s.resident()
	t.Logf("memory before %d MiB, after %d MiB", before, after)
	if after > before+mostAttacked {
		t.Errorf("the attacks took %d MiB", after-before)
	}
}

func hugeHeaders(t *testing.T, s *stage) {
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.base+"/api/v1/applications", nil)
	if err != nil {
		t.Fatal(err)
	}
	for range 200 {
		r.Header.Add("X-Filler", strings.Repeat("x", 10_000))
	}
	response, err := s.client.Do(r)
	if err != nil {
		return // the connection was closed, which is an answer too
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode < 400 {
		t.Errorf("2 MB of headers: %s", response.Status)
	}
}

// wire is a connection that speaks HTTP/2 by hand.
func wire(t *testing.T, s *stage) (*tls.Conn, *http2.Framer) {
	t.Helper()
	dialer := &tls.Dialer{Config: &tls.Config{InsecureSkipVerify: true, NextProtos: []string{"h2"}}} //nolint:gosec // made at each start
	conn, err := dialer.DialContext(t.Context(), "tcp", strings.TrimPrefix(s.base, "https://"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	if err := conn.SetDeadline(time.Now().Add(patience)); err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(conn, http2.ClientPreface); err != nil {
		t.Fatal(err)
	}
	framer := http2.NewFramer(conn, conn)
	if err := framer.WriteSettings(); err != nil {
		t.Fatal(err)
	}
	return conn.(*tls.Conn), framer
}

func rapidResets(t *testing.T, s *stage) {
	_, framer := wire(t, s)
	go func() {
		for {
			if _, err := framer.ReadFrame(); err != nil {
				return
			}
		}
	}()
	var block bytes.Buffer
	encoder := hpack.NewEncoder(&block)
	for i := range uint32(resets) {
		// The table of the peer moves with each block, so each is encoded anew.
		block.Reset()
		for _, f := range []hpack.HeaderField{
			{Name: ":method", Value: "GET"},
			{Name: ":scheme", Value: "https"},
			{Name: ":path", Value: "/api/v1/applications"},
			{Name: ":authority", Value: "towline"},
		} {
			if err := encoder.WriteField(f); err != nil {
				t.Fatal(err)
			}
		}
		id := 2*i + 1
		err := framer.WriteHeaders(http2.HeadersFrameParam{StreamID: id, BlockFragment: block.Bytes(), EndHeaders: true, EndStream: true})
		if err == nil {
			err = framer.WriteRSTStream(id, http2.ErrCodeCancel)
		}
		if err != nil {
			t.Logf("the server hung up after %d", i)
			return
		}
	}
}

func packedBody(t *testing.T, s *stage) {
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	if _, err := io.CopyN(z, zeros{}, 256<<20); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.base+"/api/v1/applications", &packed)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+s.token)
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Content-Encoding", "gzip")
	response, err := s.client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode < 400 || response.StatusCode >= 500 {
		t.Errorf("256 MB of zeros, packed: %s", response.Status)
	}
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }

func noFrames(t *testing.T, s *stage) {
	conn, _ := wire(t, s)
	// A frame of an unknown kind for a stream that is none, whose length is a lie, and then noise.
	_, _ = conn.Write([]byte{0xff, 0xff, 0xff, 0x4a, 0xff, 0x80, 0, 0, 0})
	_, _ = conn.Write(bytes.Repeat([]byte{0xa5}, 1<<16))
	_, _ = io.Copy(io.Discard, io.LimitReader(conn, 1<<20))
}

func noMessage(t *testing.T, s *stage) {
	for _, body := range [][]byte{{1, 0xff, 0xff, 0xff, 0xff}, bytes.Repeat([]byte{0xff}, 1<<20), nil} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.base+"/application.ApplicationService/List", bytes.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Content-Type", "application/grpc")
		response, err := s.client.Do(r)
		if err != nil {
			t.Errorf("a message that is none: %v", err)
			continue
		}
		_ = response.Body.Close()
		if status := response.Header.Get("Grpc-Status"); status != "12" {
			t.Errorf("a message that is none: %s, status %q", response.Status, status)
		}
	}
}
