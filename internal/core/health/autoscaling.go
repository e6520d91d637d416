package health

import (
	"encoding/json"
	"strings"
)

// v1Conditions holds the conditions of an autoscaler in autoscaling/v1, whose status has no field for them.
const v1Conditions = "autoscaling.alpha.kubernetes.io/conditions"

func autoscaler(f *fields) Health {
	verdict := progressing("Waiting for the autoscaler to report")
	for _, c := range autoscalerConditions(f) {
		if cannotScale(c) {
			return Health{Status: Degraded, Message: c.Reason + ": " + c.Message}
		}
		if c.isTrue() && (c.Type == "AbleToScale" || c.Type == "ScalingLimited") && verdict.Status != Healthy {
			verdict = Health{Status: Healthy, Message: c.Message}
		}
	}
	return verdict
}

func cannotScale(c condition) bool {
	switch c.Type {
	case "AbleToScale":
		return c.Reason == "FailedGetScale" || c.Reason == "FailedUpdateScale"
	case "ScalingActive":
		return c.Reason == "FailedGetResourceMetric" || c.Reason == "InvalidSelector"
	}
	return false
}

func autoscalerConditions(f *fields) []condition {
	all := f.conditions(statusConditions)
	text := f.text("metadata", "annotations", v1Conditions)
	if len(all) > 0 || text == "" {
		return all
	}
	if all, ok := scanConditions(text); ok {
		return all
	}
	if err := json.Unmarshal([]byte(text), &all); err != nil {
		f.blame([]string{"metadata", "annotations", v1Conditions}, "is not a list of conditions")
		return nil
	}
	return all
}

// scanConditions reads the annotation as the controller manager writes it: a flat list of objects whose values are
// plain texts. Every autoscaler is judged on each of its many status changes, and the general decoder takes longer
// than all the rest; whatever is not of this form is left to it.
func scanConditions(text string) ([]condition, bool) {
	s := scanner{rest: text}
	if !s.skip('[') {
		return nil, false
	}
	all := make([]condition, 0, 4)
	for s.skip('{') {
		var c condition
		for {
			name, value, ok := s.pair()
			if !ok {
				return nil, false
			}
			switch name {
			case "type":
				c.Type = value
			case "status":
				c.Status = value
			case "reason":
				c.Reason = value
			case "message":
				c.Message = value
			}
			if !s.skip(',') {
				break
			}
		}
		if !s.skip('}') {
			return nil, false
		}
		all = append(all, c)
		if !s.skip(',') {
			break
		}
	}
	return all, s.skip(']') && strings.TrimSpace(s.rest) == ""
}

type scanner struct{ rest string }

// skip passes one sign, and white space before it, if that sign is next.
func (s *scanner) skip(sign byte) bool {
	rest := strings.TrimLeft(s.rest, " \t\r\n")
	if rest == "" || rest[0] != sign {
		return false
	}
	s.rest = rest[1:]
	return true
}

func (s *scanner) pair() (name, value string, ok bool) {
	if name, ok = s.text(); !ok || !s.skip(':') {
		return "", "", false
	}
	value, ok = s.text()
	return name, value, ok
}

// text reads a quoted text without escapes, or with quotes as the only ones.
func (s *scanner) text() (string, bool) {
	if !s.skip('"') {
		return "", false
	}
	escaped := false
	for i := 0; i < len(s.rest); i++ {
		switch s.rest[i] {
		case '"':
			raw := s.rest[:i]
			s.rest = s.rest[i+1:]
			if escaped {
				raw = strings.ReplaceAll(raw, `\"`, `"`)
			}
			return raw, true
		case '\\':
			if i+1 == len(s.rest) || s.rest[i+1] != '"' {
				return "", false
			}
			escaped = true
			i++
		}
	}
	return "", false
}
