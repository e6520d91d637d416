// Package frame reads what an API server sends with as few passes over the text as that takes. It must not know what the
// objects mean, and where a text is not of the form that servers write it leaves it to client-go.
//
// Client-go finds out the kind of an event, reads the event, finds out the kind of its object, whether that is a list, and
// then reads the object: each is a pass over the whole text. The form of an event is fixed, and who asked knows what comes.
package frame

import (
	"bytes"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	kjson "sigs.k8s.io/json"
)

// Read reads one object, into what the caller has unless that is nil; false is that somebody else has to.
type Read func(data []byte, into runtime.Object) (runtime.Object, *schema.GroupVersionKind, bool)

// Quick is a serializer for clients that reads events, and the objects that read can read, in one pass each. All else is
// as the other serializer has it.
func Quick(other runtime.NegotiatedSerializer, read Read) runtime.NegotiatedSerializer {
	infos := slices.Clone(other.SupportedMediaTypes())
	for i, info := range infos {
		if info.MediaType != runtime.ContentTypeJSON || info.StreamSerializer == nil {
			continue
		}
		stream := *info.StreamSerializer
		stream.Serializer = events{stream.Serializer}
		stream.Framer = framer{stream.Framer}
		infos[i].StreamSerializer = &stream
	}
	return quick{NegotiatedSerializer: other, infos: infos, read: read}
}

type quick struct {
	runtime.NegotiatedSerializer
	infos []runtime.SerializerInfo
	read  Read
}

func (q quick) SupportedMediaTypes() []runtime.SerializerInfo { return q.infos }

func (q quick) DecoderToVersion(d runtime.Decoder, gv runtime.GroupVersioner) runtime.Decoder {
	return objects{Decoder: q.NegotiatedSerializer.DecoderToVersion(d, gv), read: q.read}
}

// objects are read by read, and by the decoder where that cannot.
type objects struct {
	runtime.Decoder
	read Read
}

func (o objects) Decode(
	data []byte, defaults *schema.GroupVersionKind, into runtime.Object,
) (runtime.Object, *schema.GroupVersionKind, error) {
	if defaults == nil && len(data) > 0 && data[0] == '{' {
		if out, kind, ok := o.read(data, into); ok {
			return out, kind, nil
		}
	}
	return o.Decoder.Decode(data, defaults, into)
}

// events are those of a watch.
type events struct{ runtime.Serializer }

func (e events) Decode(
	data []byte, defaults *schema.GroupVersionKind, into runtime.Object,
) (runtime.Object, *schema.GroupVersionKind, error) {
	if event, ok := into.(*metav1.WatchEvent); ok && split(data, event) {
		return event, &schema.GroupVersionKind{Version: "v1", Kind: "WatchEvent"}, nil
	}
	return e.Serializer.Decode(data, defaults, into)
}

// split takes an event apart, if it is of the form {"type":"…","object":{…}}. The object is a part of the data, which the
// caller uses again for the next event: it has to be read before that, as client-go does. Whether it is JSON shows then.
func split(data []byte, into *metav1.WatchEvent) bool {
	rest, ok := bytes.CutPrefix(data, []byte(`{"type":"`))
	if !ok {
		return false
	}
	kind, object, ok := bytes.Cut(rest, []byte(`","object":`))
	if !ok || len(kind) > len("BOOKMARK") || bytes.ContainsAny(kind, `"\`) {
		return false
	}
	object, ok = bytes.CutSuffix(bytes.TrimRight(object, " \n"), []byte("}"))
	if !ok || len(object) == 0 || object[0] != '{' {
		return false
	}
	into.Type, into.Object.Raw = string(kind), object
	return true
}

// Unstructured reads an object of any kind, as the dynamic client has it. Lists, and what the server says about a request,
// are for others.
func Unstructured(data []byte, into runtime.Object) (runtime.Object, *schema.GroupVersionKind, bool) {
	out, ok := into.(*unstructured.Unstructured)
	if into != nil && (!ok || out == nil) {
		return nil, nil, false
	}
	var content map[string]any
	if err := kjson.UnmarshalCaseSensitivePreserveInts(data, &content); err != nil {
		return nil, nil, false
	}
	read := unstructured.Unstructured{Object: content}
	kind := read.GroupVersionKind()
	_, list := content["items"]
	if list || kind.Kind == "" || kind.Version == "" || kind == (schema.GroupVersionKind{Version: "v1", Kind: "Status"}) {
		return nil, nil, false
	}
	if out == nil {
		out = &read
	}
	out.Object = content
	return out, &kind, true
}

// Typed reads objects of one kind, as servers write them: with their version and kind first. As with client-go's own
// serializers for types, the result does not say its kind.
func Typed[T any, P interface {
	*T
	runtime.Object
}](kind schema.GroupVersionKind) Read {
	first := []byte(`{"apiVersion":"` + kind.GroupVersion().String() + `","kind":"` + kind.Kind + `","metadata":`)
	return func(data []byte, into runtime.Object) (runtime.Object, *schema.GroupVersionKind, bool) {
		out, ok := into.(P)
		if into != nil && (!ok || out == nil) || !bytes.HasPrefix(data, first) {
			return nil, nil, false
		}
		read := P(new(T))
		if err := kjson.UnmarshalCaseSensitivePreserveInts(data, read); err != nil {
			return nil, nil, false
		}
		read.GetObjectKind().SetGroupVersionKind(schema.GroupVersionKind{})
		if out == nil {
			return read, &kind, true
		}
		*out = *read
		return out, &kind, true
	}
}
