package plugin

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// gRPC is HTTP/2 with a frame around each message and the outcome at the end. That is little enough to be spoken here,
// with every length known before anything is read.

// maxHeaders bounds the headers of an answer, an error's words among them.
const maxHeaders = 256 << 10

// chunkBytes is how much of the file goes into one message.
const chunkBytes = 256 << 10

// line is a connection to a socket, for one render.
type line struct {
	transport *http.Transport
	answers   int64
}

func newLine(socket string, answers int64) *line {
	var protocols http.Protocols
	protocols.SetUnencryptedHTTP2(true)
	return &line{answers: answers, transport: &http.Transport{
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			var d net.Dialer
			return d.DialContext(ctx, "unix", socket)
		},
		Protocols:              &protocols,
		DisableCompression:     true,
		MaxResponseHeaderBytes: maxHeaders,
	}}
}

func (l *line) close() { l.transport.CloseIdleConnections() }

// statusError is an outcome other than OK.
type statusError struct {
	code    int
	message string
}

func (e *statusError) Error() string { return e.message }

// The outcomes that mean something here.
const (
	statusInvalid       = 3
	statusDeadline      = 4
	statusUnimplemented = 12
)

var (
	errTooLarge = errors.New("the answer is too large")
	errProtocol = errors.New("it does not speak gRPC")
)

// call sends a body of frames and returns the message of the answer.
func (l *line) call(ctx context.Context, method string, body io.Reader) ([]byte, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://plugin/"+service+"/"+method, body)
	if err != nil {
		return nil, err
	}
	request.ContentLength = -1
	request.Header.Set("Content-Type", "application/grpc")
	request.Header.Set("Te", "trailers")
	request.Header.Set("User-Agent", "towline")
	if deadline, ok := ctx.Deadline(); ok {
		request.Header.Set("Grpc-Timeout", timeout(time.Until(deadline)))
	}
	response, err := l.transport.RoundTrip(request)
	if err != nil {
		return nil, err
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode != http.StatusOK || !strings.HasPrefix(response.Header.Get("Content-Type"), "application/grpc") {
		return nil, fmt.Errorf("%w: it answered with HTTP status %d", errProtocol, response.StatusCode)
	}
	if err := outcome(response.Header); err != nil {
		return nil, err
	}
	message, err := l.message(response.Body)
	if failed := outcome(response.Trailer); failed != nil {
		return nil, failed
	}
	if err != nil {
		return nil, err
	}
	if response.Trailer.Get("Grpc-Status") == "" {
		return nil, fmt.Errorf("%w: the answer has no end", errProtocol)
	}
	return message, nil
}

// timeout is a duration as gRPC writes it: at most eight digits.
func timeout(d time.Duration) string {
	millis := min(max(d.Milliseconds(), 1), 99_999_999)
	return strconv.FormatInt(millis, 10) + "m"
}

// outcome is the error that headers tell of.
func outcome(h http.Header) error {
	text := h.Get("Grpc-Status")
	if text == "" || text == "0" {
		return nil
	}
	code, err := strconv.Atoi(text)
	if err != nil {
		return fmt.Errorf("%w: it ended with status %q", errProtocol, text)
	}
	message := h.Get("Grpc-Message")
	if plain, err := url.PathUnescape(message); err == nil {
		message = plain
	}
	return &statusError{code: code, message: message}
}

// prefix is what goes before a message: whether it is compressed, and its length.
const prefix = 5

// message reads the one message of an answer. None at all is the empty one: then the outcome says why.
func (l *line) message(body io.Reader) ([]byte, error) {
	var head [prefix]byte
	if _, err := io.ReadFull(body, head[:]); errors.Is(err, io.EOF) {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	size := int64(binary.BigEndian.Uint32(head[1:]))
	switch {
	case head[0] != 0:
		return nil, fmt.Errorf("%w: the answer is compressed, and nobody asked for that", errProtocol)
	case size > l.answers:
		return nil, errTooLarge
	}
	// What is announced need not come: room is made as it does.
	message, err := io.ReadAll(io.LimitReader(body, size))
	if err != nil {
		return nil, err
	}
	if int64(len(message)) < size {
		return nil, io.ErrUnexpectedEOF
	}
	if n, err := io.ReadFull(body, head[:1]); n > 0 || !errors.Is(err, io.EOF) {
		if n > 0 {
			err = fmt.Errorf("%w: there is more than one message", errProtocol)
		}
		return nil, err
	}
	return message, nil
}

// frame puts a message into a frame.
func frame(message []byte) []byte {
	out := binary.BigEndian.AppendUint32([]byte{0}, uint32(len(message)))
	return append(out, message...)
}

// stream is what a method with a stream is sent: the metadata, and then the file in pieces.
type stream struct {
	rest []byte
	file io.Reader
	buf  []byte
}

func newStream(sent *parcel) *stream {
	return &stream{
		rest: frame(sent.metadata().encode()), file: io.NewSectionReader(sent.file, 0, sent.size), buf: make([]byte, chunkBytes),
	}
}

// Read gives the next bytes of the frames.
func (s *stream) Read(into []byte) (int, error) {
	if len(s.rest) == 0 {
		n, err := io.ReadFull(s.file, s.buf)
		if n == 0 {
			return 0, err
		}
		s.rest = frame(encodeChunk(nil, s.buf[:n]))
	}
	n := copy(into, s.rest)
	s.rest = s.rest[n:]
	return n, nil
}
