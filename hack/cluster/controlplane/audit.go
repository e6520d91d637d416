package controlplane

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"time"
)

// AuditLevel says how much the API server writes down of each request.
type AuditLevel string

// The audit levels. Metadata is the cheap one for counting; RequestResponse also keeps both bodies.
const (
	AuditNone            AuditLevel = ""
	AuditMetadata        AuditLevel = "Metadata"
	AuditRequest         AuditLevel = "Request"
	AuditRequestResponse AuditLevel = "RequestResponse"
)

func (l AuditLevel) policy() []byte {
	return fmt.Appendf(nil, `apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
- level: %s
`, l)
}

// Event is one finished request from the audit log.
type Event struct {
	// Time is when the request arrived, Finished when the answer was complete.
	Time     time.Time
	Finished time.Time
	// User is who asked; Impersonated is as whom, if anyone.
	User         string
	Groups       []string
	Impersonated string
	UserAgent    string
	// Verb is the Kubernetes verb: get, list, watch, create, update, patch, delete, deletecollection.
	Verb        string
	Group       string
	Version     string
	Resource    string
	Subresource string
	Namespace   string
	Name        string
	// URI is the path and the query; DryRun and FieldManager are from the query.
	URI          string
	DryRun       bool
	FieldManager string
	// Code is the HTTP status of the answer.
	Code int
	// RequestObject and ResponseObject are there if the level keeps them.
	RequestObject  json.RawMessage
	ResponseObject json.RawMessage
}

// Writes says whether the request asked to change something: a verb other than a read, and no dry-run.
func (e Event) Writes() bool {
	switch e.Verb {
	case "create", "update", "patch", "delete", "deletecollection":
		return !e.DryRun
	}
	return false
}

// auditLine is the part of audit.k8s.io/v1 Event that we read.
type auditLine struct {
	Stage      string `json:"stage"`
	RequestURI string `json:"requestURI"`
	Verb       string `json:"verb"`
	UserAgent  string `json:"userAgent"`
	User       struct {
		Username string   `json:"username"`
		Groups   []string `json:"groups"`
	} `json:"user"`
	ImpersonatedUser struct {
		Username string `json:"username"`
	} `json:"impersonatedUser"`
	ObjectRef struct {
		Resource    string `json:"resource"`
		Namespace   string `json:"namespace"`
		Name        string `json:"name"`
		APIGroup    string `json:"apiGroup"`
		APIVersion  string `json:"apiVersion"`
		Subresource string `json:"subresource"`
	} `json:"objectRef"`
	ResponseStatus struct {
		Code int `json:"code"`
	} `json:"responseStatus"`
	RequestObject            json.RawMessage `json:"requestObject"`
	ResponseObject           json.RawMessage `json:"responseObject"`
	RequestReceivedTimestamp time.Time       `json:"requestReceivedTimestamp"`
	StageTimestamp           time.Time       `json:"stageTimestamp"`
}

// ReadAudit returns the requests that are complete, in the order of their completion. A watch is complete only
// when it ends, so one that still runs is not among them. A last line that is still being written is left out.
func ReadAudit(path string) ([]Event, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("reading the audit log (was auditing asked for?): %w", err)
	}
	defer file.Close()
	return DecodeAudit(file)
}

// Trail reads an audit log that grows, each line once: what a test asks of it time and again stays cheap.
type Trail struct {
	path, word string
	offset     int64
	events     []Event
}

// NewTrail follows a log, from its beginning. Lines without the word, such as a user's name, are left out.
func NewTrail(path, word string) *Trail { return &Trail{path: path, word: word} }

// Events are those of ReadAudit, as far as the log has come. They are not for changing.
func (t *Trail) Events() ([]Event, error) {
	file, err := os.Open(t.path)
	if err != nil {
		return nil, fmt.Errorf("reading the audit log (was auditing asked for?): %w", err)
	}
	defer file.Close()
	if _, err := file.Seek(t.offset, io.SeekStart); err != nil {
		return nil, fmt.Errorf("reading the audit log: %w", err)
	}
	text, err := io.ReadAll(file)
	if err != nil {
		return nil, fmt.Errorf("reading the audit log: %w", err)
	}
	text = text[:bytes.LastIndexByte(text, '\n')+1]
	for line := range bytes.Lines(text) {
		if !bytes.Contains(line, []byte(t.word)) {
			continue
		}
		if t.events, err = decodeLine(t.events, line); err != nil {
			return nil, fmt.Errorf("reading the audit log: %w", err)
		}
	}
	t.offset += int64(len(text))
	return t.events, nil
}

// DecodeAudit does the same for a part of the log that begins and ends with a line.
func DecodeAudit(from io.Reader) ([]Event, error) {
	events := []Event{}
	reader := bufio.NewReaderSize(from, 1<<20)
	for number := 1; ; number++ {
		text, err := reader.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			return events, nil
		}
		if err != nil {
			return nil, fmt.Errorf("reading the audit log: %w", err)
		}
		if events, err = decodeLine(events, text); err != nil {
			return nil, fmt.Errorf("reading line %d of the audit log: %w", number, err)
		}
	}
}

// decodeLine appends the event of a line, if it tells of a request that is complete.
func decodeLine(events []Event, text []byte) ([]Event, error) {
	// Cheaper than decoding the bodies of a line that does not count.
	if !bytes.Contains(text, []byte(`"stage":"ResponseComplete"`)) {
		return events, nil
	}
	var line auditLine
	if err := json.Unmarshal(text, &line); err != nil {
		return nil, err
	}
	if line.Stage == "ResponseComplete" {
		events = append(events, line.event())
	}
	return events, nil
}

func (l auditLine) event() Event {
	e := Event{
		Time:           l.RequestReceivedTimestamp,
		Finished:       l.StageTimestamp,
		User:           l.User.Username,
		Groups:         l.User.Groups,
		Impersonated:   l.ImpersonatedUser.Username,
		UserAgent:      l.UserAgent,
		Verb:           l.Verb,
		Group:          l.ObjectRef.APIGroup,
		Version:        l.ObjectRef.APIVersion,
		Resource:       l.ObjectRef.Resource,
		Subresource:    l.ObjectRef.Subresource,
		Namespace:      l.ObjectRef.Namespace,
		Name:           l.ObjectRef.Name,
		URI:            l.RequestURI,
		Code:           l.ResponseStatus.Code,
		RequestObject:  l.RequestObject,
		ResponseObject: l.ResponseObject,
	}
	if address, err := url.ParseRequestURI(l.RequestURI); err == nil {
		query := address.Query()
		e.DryRun = query.Get("dryRun") != ""
		e.FieldManager = query.Get("fieldManager")
	}
	return e
}
