package plugin

import (
	"errors"

	"google.golang.org/protobuf/encoding/protowire"
)

// The protocol is that of the gRPC service below. These are its methods, and the numbers of the fields of its messages.
const (
	service          = "plugin.ConfigManagementPluginService"
	methodGenerate   = "GenerateManifest"
	methodCheck      = "CheckPluginConfiguration"
	methodMatch      = "MatchRepository"
	methodParameters = "GetParametersAnnouncement"
)

const (
	// What is sent is a stream: metadata, and then chunks of the file.
	sentMetadata = 1
	sentFile     = 2

	metadataApp       = 1
	metadataPath      = 2
	metadataChecksum  = 3
	metadataSize      = 4
	metadataVariables = 5

	variableKey   = 1
	variableValue = 2

	fileChunk = 1

	answerManifests  = 1 // of GenerateManifest
	answerSupported  = 1 // of MatchRepository
	answerDiscovers  = 1 // of CheckPluginConfiguration
	answerWantsLogin = 2
	answerParameters = 1 // of GetParametersAnnouncement

	parameterName       = 1
	parameterTitle      = 2
	parameterTooltip    = 3
	parameterRequired   = 4
	parameterItem       = 5
	parameterCollection = 6
	parameterString     = 7
	parameterArray      = 8
	parameterMap        = 9
)

// Parameter is one that a plugin says it takes.
type Parameter struct {
	Name, Title, Tooltip string
	Required             bool
	// Item is the type of a value; Collection is string, array or map, and says which of the defaults counts.
	Item, Collection string
	String           string
	Array            []string
	Map              map[string]string
}

func appendText(out []byte, field protowire.Number, text string) []byte {
	if text == "" {
		return out
	}
	return protowire.AppendString(protowire.AppendTag(out, field, protowire.BytesType), text)
}

func appendMessage(out []byte, field protowire.Number, message []byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(out, field, protowire.BytesType), message)
}

// variable is one of the environment.
type variable struct{ name, value string }

// metadata goes before the file.
type metadata struct {
	app, path, checksum string
	size                int64
	variables           []variable
}

func (m metadata) encode() []byte {
	var out []byte
	out = appendText(out, metadataApp, m.app)
	out = appendText(out, metadataPath, m.path)
	out = appendText(out, metadataChecksum, m.checksum)
	out = protowire.AppendVarint(protowire.AppendTag(out, metadataSize, protowire.VarintType), uint64(m.size))
	for _, v := range m.variables {
		out = appendMessage(out, metadataVariables, appendText(appendText(nil, variableKey, v.name), variableValue, v.value))
	}
	return appendMessage(nil, sentMetadata, out)
}

// encodeChunk appends a piece of the file.
func encodeChunk(out, chunk []byte) []byte {
	inner := protowire.SizeTag(fileChunk) + protowire.SizeBytes(len(chunk))
	out = protowire.AppendVarint(protowire.AppendTag(out, sentFile, protowire.BytesType), uint64(inner))
	return appendMessage(out, fileChunk, chunk)
}

var errMessage = errors.New("it is not a message of the protocol")

// field is one of a message: a number, or bytes that are a text or another message.
type field struct {
	number protowire.Number
	word   uint64
	bytes  []byte
}

// fields goes through a message. What it does not know it passes over: later versions may say more.
func fields(message []byte, each func(f field) error) error {
	for len(message) > 0 {
		number, kind, n := protowire.ConsumeTag(message)
		if n < 0 {
			return errMessage
		}
		message = message[n:]
		f := field{number: number}
		switch kind {
		case protowire.VarintType:
			f.word, n = protowire.ConsumeVarint(message)
		case protowire.BytesType:
			f.bytes, n = protowire.ConsumeBytes(message)
		case protowire.Fixed32Type, protowire.Fixed64Type, protowire.StartGroupType, protowire.EndGroupType:
			n = protowire.ConsumeFieldValue(number, kind, message)
			f.number = 0
		default:
			return errMessage
		}
		if n < 0 {
			return errMessage
		}
		message = message[n:]
		if f.number == 0 {
			continue
		}
		if err := each(f); err != nil {
			return err
		}
	}
	return nil
}

// readManifests are parts of the message, not copies.
func readManifests(message []byte) (out [][]byte, err error) {
	err = fields(message, func(f field) error {
		if f.number == answerManifests {
			out = append(out, f.bytes)
		}
		return nil
	})
	return out, err
}

// readTruths are the fields of a message that are true.
func readTruths(message []byte) (map[protowire.Number]bool, error) {
	out := map[protowire.Number]bool{}
	err := fields(message, func(f field) error {
		out[f.number] = f.word != 0
		return nil
	})
	return out, err
}

func readParameters(message []byte) (out []Parameter, err error) {
	err = fields(message, func(f field) error {
		if f.number != answerParameters {
			return nil
		}
		p, err := readParameter(f.bytes)
		out = append(out, p)
		return err
	})
	return out, err
}

func readParameter(message []byte) (p Parameter, err error) {
	texts := map[protowire.Number]*string{
		parameterName: &p.Name, parameterTitle: &p.Title, parameterTooltip: &p.Tooltip, parameterItem: &p.Item,
		parameterCollection: &p.Collection, parameterString: &p.String,
	}
	err = fields(message, func(f field) error {
		switch into := texts[f.number]; {
		case into != nil:
			*into = string(f.bytes)
		case f.number == parameterRequired:
			p.Required = f.word != 0
		case f.number == parameterArray:
			p.Array = append(p.Array, string(f.bytes))
		case f.number == parameterMap:
			return p.entry(f.bytes)
		}
		return nil
	})
	return p, err
}

func (p *Parameter) entry(message []byte) error {
	var key, value string
	err := fields(message, func(f field) error {
		switch f.number {
		case 1:
			key = string(f.bytes)
		case 2:
			value = string(f.bytes)
		default: // nobody knows of more
		}
		return nil
	})
	if p.Map == nil {
		p.Map = map[string]string{}
	}
	p.Map[key] = value
	return err
}
