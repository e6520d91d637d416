package forge

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/towline-cd/towline/internal/core/fault"
)

// maxPages bounds a list: at a hundred entries each, it is more than a set of Applications can be made of.
const maxPages = 200

// listing is a list that a forge gives in pages.
type listing[T any] struct {
	path  string
	query url.Values
	pages pages
	// id tells one entry from another; it is empty if the entry lacks what it must have.
	id func(T) string
	// hides says that the forge counts entries which it does not show: its totals are those of others too, and a page may
	// have nothing for us.
	hides bool
}

// pages are how many entries a full page has, and the word that a forge has for that.
type pages struct {
	size int
	key  string
}

// page is what was asked for one, and who was on it.
type page struct {
	query url.Values
	ids   []string
}

// pager reads the pages of one list and holds them to what the forge says of them.
type pager[T any] struct {
	listing[T]
	session *session
	all     []T
	seen    map[string]bool
	read    []page
	total   int // that the forge announced; -1 if it did not
	last    int // the page that it called the last one; 0 if it did not
}

// list reads all the pages. What comes back is the list as it was at one moment, or an error.
func list[T any](ctx context.Context, s *session, l listing[T]) ([]T, error) {
	query := maps.Clone(l.query)
	if query == nil {
		query = url.Values{}
	}
	query.Set(l.pages.key, strconv.Itoa(l.pages.size))
	p := &pager[T]{listing: l, session: s, seen: map[string]bool{}, total: -1}
	announced := false
	for query != nil {
		header, got, err := p.turn(ctx, query)
		if err != nil {
			return nil, fmt.Errorf("page %d: %w", len(p.read)+1, err)
		}
		if announced && got == 0 && !l.hides {
			return nil, p.torn("page %d, which was announced, is empty", len(p.read))
		}
		if err := p.announce(header); err != nil {
			return nil, err
		}
		query, announced = p.next(header, query, got)
	}
	if p.hides && p.total > 0 && len(p.all) == 0 {
		return nil, fault.Terminalf("ForgeDenied", "the list at %s/%s has %d entries, and none of them is shown to this login; have it "+
			"given access", shown(s.base), l.path, p.total)
	}
	if !p.hides && p.total >= 0 && len(p.all) != p.total {
		return nil, p.torn("it has %d entries by its own word, and %d came", p.total, len(p.all))
	}
	if len(p.read) < p.last {
		return nil, p.torn("it has %d pages by its own word, and %d came", p.last, len(p.read))
	}
	if err := p.confirm(ctx); err != nil {
		return nil, err
	}
	return p.all, nil
}

// torn is the error of a list that cannot be taken for whole. Asking again may give a better one.
func (p *pager[T]) torn(format string, args ...any) error {
	return fault.Transientf("AnswerIncomplete", "the list at %s is not whole: %s", shown(p.session.base)+"/"+p.path,
		fmt.Sprintf(format, args...))
}

func (p *pager[T]) turn(ctx context.Context, query url.Values) (http.Header, int, error) {
	if len(p.read) >= maxPages {
		return nil, 0, fault.Terminalf("ListTooLong", "the list at %s/%s has more than %d pages; narrow the generator down",
			shown(p.session.base), p.path, maxPages)
	}
	items, header, err := get[[]T](ctx, p.session, p.path, query)
	if err != nil {
		return nil, 0, err
	}
	ids := make([]string, 0, len(items))
	for _, item := range items {
		id := p.id(item)
		switch {
		case id == "":
			return nil, 0, p.torn("an entry lacks what every entry has")
		case p.seen[id]:
			return nil, 0, p.torn("%s is in it twice", id)
		}
		p.seen[id] = true
		ids = append(ids, id)
	}
	p.all = append(p.all, items...)
	p.read = append(p.read, page{query: query, ids: ids})
	return header, len(items), nil
}

// announce takes down what a page says of the whole list, and that the pages say the same.
func (p *pager[T]) announce(h http.Header) error {
	total := totalOf(h)
	if p.total >= 0 && total >= 0 && total != p.total && !p.hides {
		return p.torn("it changed while it was read, from %d entries to %d", p.total, total)
	}
	p.total = max(p.total, total)
	if link, ok := links(h)["last"]; ok {
		n, _ := strconv.Atoi(link.Get("page"))
		p.last = max(p.last, n)
	}
	return nil
}

// next is what to ask for after a page; nil is nothing. A page is announced if the forge itself speaks of it. Where it
// does not, a page that is full may still have another after it, and only asking tells.
func (p *pager[T]) next(h http.Header, query url.Values, got int) (next url.Values, announced bool) {
	next = maps.Clone(query)
	if link, ok := links(h)["next"]; ok {
		// Only where in the list to go on is taken from the link. Its host and path are the forge's view of itself, which
		// is often not ours, and none of its business.
		for _, key := range []string{"page", "cursor", "after", "id_after", "pagination"} {
			if link.Has(key) {
				next.Set(key, link.Get(key))
			}
		}
		return next, true
	}
	if number := h.Get("X-Next-Page"); number != "" {
		next.Set("page", number)
		return next, true
	}
	at, err := strconv.Atoi(query.Get("page"))
	if err != nil {
		at = 1
	}
	next.Set("page", strconv.Itoa(at+1))
	switch {
	case p.total >= 0 && len(p.all) < p.total && !p.hides:
		return next, true
	case p.total < 0 && p.last == 0 && got >= p.pages.size:
		return next, false
	}
	return nil, false
}

// confirm looks at all the pages but the last again. An entry that was taken out of an early page while a later one was
// being read moves one forward, from a page not read yet to one that was, and is missed. Pages that stayed the same are
// proof that nothing moved; where the forge marks its answers they cost next to nothing.
func (p *pager[T]) confirm(ctx context.Context) error {
	for i, before := range p.read[:max(len(p.read)-1, 0)] {
		items, _, err := get[[]T](ctx, p.session, p.path, before.query)
		if err != nil {
			return fmt.Errorf("looking at page %d again: %w", i+1, err)
		}
		ids := make([]string, 0, len(items))
		for _, item := range items {
			ids = append(ids, p.id(item))
		}
		if !slices.Equal(ids, before.ids) {
			return p.torn("it changed while it was read")
		}
	}
	return nil
}

// paging are the headers that a kept answer needs.
func paging(h http.Header) http.Header {
	out := http.Header{}
	for _, name := range []string{"Link", "X-Next-Page", "X-Total", "X-Total-Count"} {
		if values := h.Values(name); len(values) > 0 {
			out[http.CanonicalHeaderKey(name)] = slices.Clone(values)
		}
	}
	return out
}

// totalOf is how many entries a list has by the word of the forge; -1 is that it does not say.
func totalOf(h http.Header) int {
	for _, name := range []string{"X-Total", "X-Total-Count"} {
		if n, err := strconv.Atoi(strings.TrimSpace(h.Get(name))); err == nil && n >= 0 {
			return n
		}
	}
	return -1
}

// links are the queries of a Link header, by their relation.
func links(h http.Header) map[string]url.Values {
	out := map[string]url.Values{}
	for _, value := range h.Values("Link") {
		for value != "" {
			_, rest, ok := strings.Cut(value, "<")
			if !ok {
				break
			}
			target, rest, ok := strings.Cut(rest, ">")
			if !ok {
				break
			}
			params, after, _ := strings.Cut(rest, ",")
			// A comma may also be inside of the next target, and that begins with "<".
			value = after
			parsed, err := url.Parse(target)
			if err != nil {
				continue
			}
			for param := range strings.SplitSeq(params, ";") {
				key, name, _ := strings.Cut(strings.TrimSpace(param), "=")
				if strings.EqualFold(key, "rel") {
					out[strings.ToLower(strings.Trim(name, `"`))] = parsed.Query()
				}
			}
		}
	}
	return out
}
