package cli

import (
	"strings"
	"unicode"

	"github.com/towline-cd/towline/api/v1alpha1"
)

// colour is the number in an ANSI sequence; zero is none.
type colour string

const (
	plain  colour = ""
	bold   colour = "1"
	faint  colour = "2"
	red    colour = "31"
	green  colour = "32"
	yellow colour = "33"
	blue   colour = "34"
)

const (
	colourAuto   = "auto"
	colourAlways = "always"
	colourNever  = "never"
)

// palette paints, or does not. Colour is never the only signal: every painted
// word keeps its word.
type palette struct{ on bool }

func (p palette) paint(c colour, s string) string {
	if !p.on || c == plain || s == "" {
		return s
	}
	return "\x1b[" + string(c) + "m" + s + "\x1b[0m"
}

// wantColour decides for one stream. The flag is the most explicit; then
// NO_COLOR, CLICOLOR_FORCE and CLICOLOR in the order in which they are strict.
func wantColour(mode string, terminal bool, getenv func(string) string) bool {
	switch mode {
	case colourAlways:
		return true
	case colourNever:
		return false
	}
	if getenv == nil {
		return terminal
	}
	force := getenv("CLICOLOR_FORCE")
	switch {
	case getenv("NO_COLOR") != "":
		return false
	case force != "" && force != "0":
		return true
	case getenv("CLICOLOR") == "0", getenv("TERM") == "dumb":
		return false
	}
	return terminal
}

// clean makes text from a cluster safe to show: it may hold sequences that
// would move the cursor or fake other output, and line breaks that would tear
// a table.
func clean(s string) string {
	return strings.TrimSpace(strings.Map(func(r rune) rune {
		switch {
		case r == '\n', r == '\t', r == '\r':
			return ' '
		case unicode.IsControl(r), unicode.Is(unicode.Bidi_Control, r):
			return unicode.ReplacementChar
		}
		return r
	}, s))
}

// cut shortens text to a width, with a mark where something is missing.
func cut(s string, width int) string {
	r := []rune(s)
	if width <= 0 || len(r) <= width {
		return s
	}
	return string(r[:width-1]) + "…"
}

func syncColour(s v1alpha1.SyncStatusCode) colour {
	switch s {
	case v1alpha1.SyncStatusCodeSynced:
		return green
	case v1alpha1.SyncStatusCodeOutOfSync:
		return yellow
	case v1alpha1.SyncStatusCodeUnknown:
		return red
	}
	return plain
}

func healthColour(h v1alpha1.HealthStatusCode) colour {
	switch h {
	case v1alpha1.HealthStatusHealthy:
		return green
	case v1alpha1.HealthStatusProgressing, v1alpha1.HealthStatusSuspended:
		return blue
	case v1alpha1.HealthStatusMissing:
		return yellow
	case v1alpha1.HealthStatusDegraded, v1alpha1.HealthStatusUnknown:
		return red
	}
	return plain
}

func phaseColour(p v1alpha1.OperationPhase) colour {
	switch p {
	case v1alpha1.OperationSucceeded:
		return green
	case v1alpha1.OperationRunning:
		return blue
	case v1alpha1.OperationTerminating:
		return yellow
	case v1alpha1.OperationFailed, v1alpha1.OperationError:
		return red
	}
	return plain
}

func resultColour(r v1alpha1.ResourceResult) colour {
	switch mark(r) {
	case markFailed:
		return red
	case markRunning:
		return blue
	case markSkipped:
		return yellow
	}
	return green
}

func conditionColour(t v1alpha1.ApplicationConditionType) colour {
	if strings.HasSuffix(string(t), "Warning") {
		return yellow
	}
	return red
}
