package notice

import (
	"fmt"
	"maps"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"text/template"
	"time"

	"github.com/Masterminds/sprig/v3"

	"github.com/towline-cd/towline/api/v1alpha1"
)

// Commit is what is known of one.
type Commit struct {
	Message, Author string
	Date            time.Time
	Tags            []string
}

// World is what triggers and templates can ask for besides the application.
type World struct {
	Now time.Time
	// Commit looks up a commit of the repository of the application's source; nil is that nobody can.
	Commit func(sha string) (Commit, error)
}

// vars are what triggers and templates see. notify is the name of the service that the message is for; empty in triggers.
func (c *Config) vars(app map[string]any, w World, notify string) map[string]any {
	context := map[string]string{"notificationType": notify}
	maps.Copy(context, c.context)
	out := map[string]any{
		"app": app, "context": context,
		"time": clock(w.Now), "now": func() time.Time { return w.Now },
		"strings": map[string]any{"ReplaceAll": strings.ReplaceAll, "ToUpper": strings.ToUpper, "ToLower": strings.ToLower},
		"sync":    map[string]any{"GetInfoItem": infoItem},
		"repo":    repository(app, w),
	}
	if c.secrets != nil {
		out["secrets"] = c.secrets
	}
	return out
}

// clock is the namespace time.
func clock(now time.Time) map[string]any {
	out := map[string]any{
		"Now":        func() time.Time { return now },
		"Parse":      func(text string) (time.Time, error) { return time.Parse(time.RFC3339, text) },
		"Nanosecond": time.Nanosecond, "Microsecond": time.Microsecond, "Millisecond": time.Millisecond,
		"Second": time.Second, "Minute": time.Minute, "Hour": time.Hour,
		"ANSIC": time.ANSIC, "UnixDate": time.UnixDate, "RFC822": time.RFC822, "RFC822Z": time.RFC822Z, "RFC850": time.RFC850,
		"RFC1123": time.RFC1123, "RFC1123Z": time.RFC1123Z, "RFC3339": time.RFC3339, "RFC3339Nano": time.RFC3339Nano,
		"Kitchen": time.Kitchen, "Stamp": time.Stamp, "DateTime": time.DateTime, "DateOnly": time.DateOnly, "TimeOnly": time.TimeOnly,
		"Unix": time.Unix, "UnixMilli": time.UnixMilli, "UnixMicro": time.UnixMicro,
		"ParseDuration": time.ParseDuration,
	}
	for day := time.Sunday; day <= time.Saturday; day++ {
		out[day.String()] = day
	}
	for month := time.January; month <= time.December; month++ {
		out[month.String()] = month
	}
	return out
}

// infoItem is a word that whoever asked for a sync sent along.
func infoItem(app map[string]any, name string) (string, error) {
	items, _ := dig(app, "status", "operationState", "operation", "info").([]any)
	for _, item := range items {
		if entry, ok := item.(map[string]any); ok && entry["name"] == name {
			return fmt.Sprint(entry["value"]), nil
		}
	}
	return "", nil
}

func dig(value any, path ...string) any {
	for _, name := range path {
		inner, ok := value.(map[string]any)
		if !ok {
			return nil
		}
		value = inner[name]
	}
	return value
}

// repository is the namespace repo.
func repository(app map[string]any, w World) map[string]any {
	return map[string]any{
		"RepoURLToHTTPS":    webURL,
		"FullNameByRepoURL": FullName,
		"QueryEscape":       url.QueryEscape,
		"GetCommitMetadata": func(sha string) (Commit, error) {
			if w.Commit == nil {
				return Commit{}, fmt.Errorf("repo.GetCommitMetadata: repositories cannot be read here")
			}
			found, err := w.Commit(sha)
			if err != nil {
				return Commit{}, fmt.Errorf("repo.GetCommitMetadata: %w", err)
			}
			return found, nil
		},
		"GetAppDetails": func() Details { return details(app) },
	}
}

// scpLike is an address as ssh writes it.
var scpLike = regexp.MustCompile(`^(?:[\w.-]+@)?([\w.-]+):([^/].*)$`)

func webURL(raw string) (string, error) {
	parsed, err := parseRepo(raw)
	if err != nil {
		return "", err
	}
	parsed.Scheme, parsed.User = "https", nil
	return parsed.String(), nil
}

func parseRepo(raw string) (*url.URL, error) {
	if m := scpLike.FindStringSubmatch(raw); m != nil && !strings.Contains(raw, "://") {
		return &url.URL{Scheme: "ssh", Host: m[1], Path: "/" + m[2]}, nil
	}
	parsed, err := url.Parse(raw)
	if err != nil {
		return nil, fmt.Errorf("%q is not the address of a repository", raw)
	}
	return parsed, nil
}

// FullName is <owner>/<name> of a repository.
func FullName(raw string) (string, error) {
	parsed, err := parseRepo(raw)
	if err != nil {
		return "", err
	}
	path := strings.Trim(strings.TrimSuffix(parsed.Path, ".git"), "/")
	if parts := strings.Split(path, "/"); len(parts) > 2 {
		return strings.Join(parts[:2], "/"), nil
	}
	return path, nil
}

// Details are what the source of an application says of how it is rendered.
type Details struct {
	Type string
	Helm *HelmDetails
}

// HelmDetails are those of a chart, as the application gives them.
type HelmDetails struct {
	Name           string
	ValueFiles     []string
	Values         string
	Parameters     []v1alpha1.HelmParameter
	FileParameters []v1alpha1.HelmFileParameter
}

// GetParameterValueByName is the value of a parameter.
func (h *HelmDetails) GetParameterValueByName(name string) string {
	for _, p := range h.Parameters {
		if p.Name == name {
			return p.Value
		}
	}
	return ""
}

// GetFileParameterPathByName is the path of a parameter that is a file.
func (h *HelmDetails) GetFileParameterPathByName(name string) string {
	for _, p := range h.FileParameters {
		if p.Name == name {
			return p.Path
		}
	}
	return ""
}

// details reads them off the application: what the chart itself says is not looked up.
func details(app map[string]any) Details {
	kind, _ := dig(app, "status", "sourceType").(string)
	out := Details{Type: kind}
	helm, ok := dig(app, "spec", "source", "helm").(map[string]any)
	if !ok {
		return out
	}
	text := func(name string) string {
		s, _ := helm[name].(string)
		return s
	}
	out.Helm = &HelmDetails{Name: text("releaseName"), Values: text("values")}
	if files, ok := helm["valueFiles"].([]any); ok {
		for _, f := range files {
			out.Helm.ValueFiles = append(out.Helm.ValueFiles, fmt.Sprint(f))
		}
	}
	each := func(list string, add func(entry map[string]any)) {
		entries, _ := helm[list].([]any)
		for _, e := range entries {
			if entry, ok := e.(map[string]any); ok {
				add(entry)
			}
		}
	}
	each("parameters", func(e map[string]any) {
		out.Helm.Parameters = append(out.Helm.Parameters,
			v1alpha1.HelmParameter{Name: fmt.Sprint(e["name"]), Value: fmt.Sprint(e["value"])})
	})
	each("fileParameters", func(e map[string]any) {
		out.Helm.FileParameters = append(out.Helm.FileParameters,
			v1alpha1.HelmFileParameter{Name: fmt.Sprint(e["name"]), Path: fmt.Sprint(e["path"])})
	})
	return out
}

// The functions that templates do not have: they look into the process or the network, or take longer than a message is
// worth.
var withheld = []string{
	"env", "expandenv", "getHostByName", "genPrivateKey", "genCA", "genCAWithKey", "genSelfSignedCert", "genSelfSignedCertWithKey",
	"genSignedCert", "genSignedCertWithKey", "bcrypt", "htpasswd", "derivePassword",
}

const (
	// maxCount bounds the numbers that one call of a function makes, and maxText what a template gives.
	maxCount = 10_000
	maxText  = 1 << 20
)

// functions are those of templates. A template cannot be stopped while it runs, so that what makes much out of a number has
// an end.
var functions = sync.OnceValue(func() template.FuncMap {
	all := sprig.TxtFuncMap()
	for _, name := range withheld {
		delete(all, name)
	}
	until, _ := all["until"].(func(int) []int)
	untilStep, _ := all["untilStep"].(func(int, int, int) []int)
	maps.Copy(all, template.FuncMap{
		"until": func(count int) ([]int, error) {
			if count > maxCount || count < -maxCount {
				return nil, tooMany("until", count)
			}
			return until(count), nil
		},
		"untilStep": func(start, stop, step int) ([]int, error) {
			if step != 0 && (stop-start)/step > maxCount {
				return nil, tooMany("untilStep", (stop-start)/step)
			}
			return untilStep(start, stop, step), nil
		},
		"seq": func(params ...int) (string, error) { return "", fmt.Errorf("seq is not there; range over until") },
		"repeat": func(count int, s string) (string, error) {
			if count > 0 && len(s) > maxText/count {
				return "", errTooLong
			}
			return strings.Repeat(s, max(count, 0)), nil
		},
		"indent":  func(spaces int, s string) (string, error) { return indent(spaces, s, "") },
		"nindent": func(spaces int, s string) (string, error) { return indent(spaces, s, "\n") },
	})
	return all
})

func indent(spaces int, s, before string) (string, error) {
	if spaces < 0 || spaces > maxText/(strings.Count(s, "\n")+1) {
		return "", errTooLong
	}
	pad := strings.Repeat(" ", spaces)
	return before + pad + strings.ReplaceAll(s, "\n", "\n"+pad), nil
}

func tooMany(function string, count int) error {
	return fmt.Errorf("%s makes %d numbers, and %d are the most", function, count, maxCount)
}
