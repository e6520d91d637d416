package catalog

import (
	"strconv"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"
)

// selected are the applications that meet one requirement of a selector, with
// the rules that Kubernetes has for them.
func (c *Catalog) selected(r labels.Requirement) bitmap {
	k := c.labels.values[r.Key()]
	switch r.Operator() {
	case selection.NotIn, selection.NotEquals:
		return c.without(c.labelled(k, r.ValuesUnsorted()))
	case selection.DoesNotExist:
		return c.without(c.keyed(k))
	case selection.Exists:
		return c.keyed(k)
	case selection.GreaterThan, selection.LessThan:
		return c.compared(k, r)
	default:
		return c.labelled(k, r.ValuesUnsorted())
	}
}

// labelled are those whose label has one of the values.
func (c *Catalog) labelled(k *value, texts []string) bitmap {
	if k == nil {
		return newBitmap(len(c.rows))
	}
	return k.keyed.any(len(c.rows), texts...)
}

// keyed are those that have the label at all.
func (c *Catalog) keyed(k *value) bitmap {
	b := newBitmap(len(c.rows))
	if k != nil {
		k.slots.into(b)
	}
	return b
}

// without are all the others.
func (c *Catalog) without(b bitmap) bitmap {
	out := newBitmap(len(c.rows))
	copy(out, c.live)
	out.andNot(b)
	return out
}

// compared are those whose label is a number above or below the given one.
func (c *Catalog) compared(k *value, r labels.Requirement) bitmap {
	b := newBitmap(len(c.rows))
	texts := r.ValuesUnsorted()
	if k == nil || len(texts) != 1 {
		return b
	}
	bound, err := strconv.ParseInt(texts[0], 10, 64)
	if err != nil {
		return b
	}
	for _, v := range k.keyed.byID {
		if v == nil {
			continue
		}
		n, err := strconv.ParseInt(v.text, 10, 64)
		if err != nil {
			continue
		}
		if r.Operator() == selection.GreaterThan && n > bound || r.Operator() == selection.LessThan && n < bound {
			v.slots.into(b)
		}
	}
	return b
}
