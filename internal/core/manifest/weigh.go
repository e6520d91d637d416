package manifest

import (
	"bytes"
	"fmt"

	"go.yaml.in/yaml/v3"
)

// weighAliases refuses a document whose aliases, written out, would make it larger than MaxExpandedBytes. The parser
// bounds how often aliases are followed, but not how much text they repeat: a megabyte and 900 aliases are a gigabyte.
// The tree that is weighed here still holds an alias as one node.
func weighAliases(text []byte) error {
	if !bytes.ContainsRune(text, '&') || !bytes.ContainsRune(text, '*') {
		return nil
	}
	var root yaml.Node
	if yaml.Unmarshal(text, &root) != nil {
		return nil // the parser that follows says what is wrong, in its own words
	}
	scale := scale{known: map[*yaml.Node]int{}}
	if scale.weigh(&root) > MaxExpandedBytes {
		return fmt.Errorf("the aliases of the document make it larger than %d bytes; write it without them", MaxExpandedBytes)
	}
	return nil
}

type scale struct {
	known map[*yaml.Node]int
}

func (s scale) weigh(node *yaml.Node) int {
	if weight, ok := s.known[node]; ok {
		return weight
	}
	s.known[node] = MaxExpandedBytes + 1 // an anchor that holds itself never ends
	weight := len(node.Value) + 4
	if node.Kind == yaml.AliasNode && node.Alias != nil {
		weight = s.weigh(node.Alias)
	}
	for _, child := range node.Content {
		weight = min(weight+s.weigh(child), MaxExpandedBytes+1)
	}
	s.known[node] = weight
	return weight
}
