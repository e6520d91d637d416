package helm

import (
	"encoding/json"
	"fmt"
	"strings"

	chart "helm.sh/helm/v4/pkg/chart/v2"

	"github.com/towline-cd/towline/internal/core/fault"
)

// maxSchemaDepth is how deep a schema may nest.
const maxSchemaDepth = 512

// checkSchemas refuses a schema that points to other files or hosts: the validator would go and read them.
func checkSchemas(of *chart.Chart, skip bool) error {
	if skip {
		return nil
	}
	if len(of.Schema) > 0 {
		var schema any
		if err := json.Unmarshal(of.Schema, &schema); err != nil {
			return fault.Terminalf("InvalidChart", "values.schema.json of chart %q: %w", of.Name(), err)
		}
		if err := checkSchema(schema, 0); err != nil {
			return fault.Terminalf("InvalidChart", "values.schema.json of chart %q: %w; write what it points to into the schema, or set "+
				"helm.skipSchemaValidation", of.Name(), err)
		}
	}
	for _, subchart := range of.Dependencies() {
		if err := checkSchemas(subchart, skip); err != nil {
			return err
		}
	}
	return nil
}

func checkSchema(node any, depth int) error {
	if depth > maxSchemaDepth {
		return fmt.Errorf("it is nested more than %d deep", maxSchemaDepth)
	}
	switch node := node.(type) {
	case []any:
		for _, item := range node {
			if err := checkSchema(item, depth+1); err != nil {
				return err
			}
		}
	case map[string]any:
		for key, value := range node {
			if target, ok := value.(string); ok && strings.HasSuffix(key, "ef") && !inSchema(key, target) {
				return fmt.Errorf("%s %q points out of the chart, and nothing is read from there", key, target)
			}
			if err := checkSchema(value, depth+1); err != nil {
				return err
			}
		}
	}
	return nil
}

// inSchema reports whether a reference stays within the schema. The drafts of JSON Schema are known to the validator.
func inSchema(key, target string) bool {
	switch key {
	case "$ref", "$dynamicRef", "$recursiveRef":
	default:
		return true // a property that is called so
	}
	return target == "" || strings.HasPrefix(target, "#") || strings.HasPrefix(target, "urn:") ||
		strings.HasPrefix(target, "http://json-schema.org/draft-") || strings.HasPrefix(target, "https://json-schema.org/draft/")
}
