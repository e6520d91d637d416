package cli

import (
	"fmt"
	"path/filepath"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/towline-cd/towline/internal/core/health"
)

// healthCases is a file of cases. The names are those of the health_test.yaml
// that people know, with the object in the file itself as a shorter way.
type healthCases struct {
	Tests []healthCase `json:"tests"`
}

type healthCase struct {
	Name string `json:"name"`
	// InputPath is a file with the object, seen from the folder of this one.
	InputPath    string         `json:"inputPath"`
	Object       map[string]any `json:"object"`
	HealthStatus struct {
		Status string `json:"status"`
		// Message is not compared when it is not there.
		Message *string `json:"message"`
	} `json:"healthStatus"`
}

// caseDocument is one case in the structured output.
type caseDocument struct {
	Name   string     `json:"name"`
	Passed bool       `json:"passed"`
	Want   caseHealth `json:"want"`
	Got    caseHealth `json:"got"`
	Rule   string     `json:"rule"`
}

type caseHealth struct {
	Status  string  `json:"status"`
	Message *string `json:"message,omitempty"`
}

func (c *judging) test(judge Judge) error {
	cases, err := c.readCases()
	if err != nil {
		return err
	}
	documents := make([]caseDocument, len(cases.Tests))
	failed := 0
	for i, one := range cases.Tests {
		u, err := c.input(one)
		if err != nil {
			return fmt.Errorf("case %d of %q: %w", i+1, c.cases, err)
		}
		documents[i] = one.compare(judge.Judge([]*unstructured.Unstructured{u})[0])
		if !documents[i].Passed {
			failed++
		}
	}
	if err := c.printCases(documents); err != nil {
		return err
	}
	if failed > 0 {
		fmt.Fprintf(c.env.Err, "%d of %d cases failed\n", failed, len(documents))
		return ErrDifferent
	}
	return nil
}

func (c *judging) readCases() (healthCases, error) {
	var cases healthCases
	text, err := c.read(c.cases)
	if err != nil {
		return cases, err
	}
	if err := yaml.UnmarshalStrict(text, &cases); err != nil {
		return cases, fmt.Errorf("reading the cases %q: %w", c.cases, err)
	}
	if len(cases.Tests) == 0 {
		return cases, fmt.Errorf("%q holds no tests", c.cases)
	}
	return cases, nil
}

// input is the object of a case.
func (c *judging) input(one healthCase) (*unstructured.Unstructured, error) {
	switch {
	case one.Object != nil && one.InputPath != "":
		return nil, fmt.Errorf("it has both object and inputPath")
	case one.Object != nil:
		return &unstructured.Unstructured{Object: one.Object}, nil
	case one.InputPath == "":
		return nil, fmt.Errorf("it has neither object nor inputPath")
	}
	path := one.InputPath
	if !filepath.IsAbs(path) && c.cases != "-" {
		path = filepath.Join(filepath.Dir(c.cases), path)
	}
	objects, err := c.objects(path)
	if err != nil {
		return nil, err
	}
	if len(objects) != 1 {
		return nil, fmt.Errorf("%q holds %d objects, a case has one", path, len(objects))
	}
	return objects[0], nil
}

func (t healthCase) compare(j Judged) caseDocument {
	want := caseHealth{Status: t.HealthStatus.Status, Message: t.HealthStatus.Message}
	name := t.Name
	if name == "" {
		name = t.InputPath
	}
	return caseDocument{
		Name: name, Rule: j.Rule, Want: want,
		Got:    caseHealth{Status: string(j.Health.Status), Message: &j.Health.Message},
		Passed: want.Status == string(j.Health.Status) && (want.Message == nil || *want.Message == j.Health.Message),
	}
}

func (c *judging) printCases(documents []caseDocument) error {
	if c.output.structured() {
		return c.output.encode(c.env.Out, documents)
	}
	t := table{head: []string{"RESULT", "CASE", "WANT", "GOT"}, palette: c.palette()}
	for i, d := range documents {
		result := cell{text: "pass", colour: green}
		if !d.Passed {
			result = cell{text: "FAIL", colour: red}
		}
		name := d.Name
		if name == "" {
			name = fmt.Sprintf("case %d", i+1)
		}
		t.row(result, word(name), word(d.Want.String()), word(d.Got.String()))
	}
	return t.write(c.env.Out, true)
}

// String is a health in a table.
func (h caseHealth) String() string {
	status := h.Status
	if status == "" {
		status = statusCell(health.Status("")).text
	}
	if h.Message == nil || *h.Message == "" {
		return status
	}
	return status + ": " + *h.Message
}
