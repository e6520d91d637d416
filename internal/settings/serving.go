package settings

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/towline-cd/towline/api/v1alpha1"
)

// Serving is what the config maps say of the server and its pages.
type Serving struct {
	URL            string
	AdditionalURLs []string
	// Insecure is plain HTTP. RootPath is what a proxy leaves on the path, BaseHref where pages live.
	Insecure           bool
	RootPath, BaseHref string
	FrameOptions       string
	// ContentTypes are those of bodies; nil is JSON alone, and an empty list is any.
	ContentTypes []string
	// MaxWebhook is how many bytes a webhook may have; zero is the default.
	MaxWebhook int64
	// HiddenAnnotations are the keys of annotations whose values are not told.
	HiddenAnnotations []string

	// NoReplace says that nobody may ask for a sync that replaces objects.
	NoReplace bool

	StatusBadge       bool
	StatusBadgeURL    string
	Exec              bool
	AdminDisabled     bool
	PasswordPattern   string
	InstallationID    string
	ChatURL, ChatText string
	// Downloads are where programs can be had, by os-architecture.
	Downloads      map[string]string
	AnalyticsID    string
	AnalyticsNames bool

	CSSURL, BannerContent, BannerURL, BannerPosition, LoginButton string
	BannerPermanent                                               bool

	ApplicationLinks, ResourceLinks, ProjectLinks []Link
}

// Link is a link of the installation's own, for which texts are templates.
type Link struct {
	Title       string `json:"title"`
	URL         string `json:"url"`
	Description string `json:"description"`
	IconClass   string `json:"icon.class"`
	If          string `json:"if"`
}

// servingKeys are the keys of argocd-cm that parseServing reads.
var servingKeys = []string{
	v1alpha1.KeyURL, v1alpha1.KeyAdditionalURLs, v1alpha1.KeySensitiveMaskAnnotations, v1alpha1.KeyStatusBadgeURL,
	v1alpha1.KeyHelpChatURL, v1alpha1.KeyHelpChatText, v1alpha1.KeyGATrackingID, v1alpha1.KeyGAAnonymizeUsers, v1alpha1.KeyUICSSURL,
	v1alpha1.KeyUIBannerContent, v1alpha1.KeyUIBannerURL, v1alpha1.KeyUIBannerPermanent, v1alpha1.KeyUIBannerPosition,
	v1alpha1.KeyUILoginButtonText, v1alpha1.KeyApplicationLinks, v1alpha1.KeyResourceLinks, v1alpha1.KeyProjectLinks,
	v1alpha1.KeyWebhookMaxPayloadMB,
}

// serves says that a key is read here.
func serves(key string) bool {
	return slices.Contains(servingKeys, key) || strings.HasPrefix(key, v1alpha1.KeyHelpDownloadPrefix)
}

// downloads are where the program can be had for other systems, by their names; nil is nowhere.
func downloads(data map[string]string) map[string]string {
	var out map[string]string
	for key, value := range data {
		name, ok := strings.CutPrefix(key, v1alpha1.KeyHelpDownloadPrefix)
		if !ok {
			continue
		}
		if out == nil {
			out = map[string]string{}
		}
		out[name] = value
	}
	return out
}

func contentTypes(text string) []string {
	out := []string{}
	for t := range strings.SplitSeq(strings.ToLower(text), ";") {
		if t = strings.TrimSpace(t); t != "" {
			out = append(out, t)
		}
	}
	return out
}

// parseServing reads what argocd-cm and argocd-cmd-params-cm say of the server. Problems name keys.
func parseServing(data, params map[string]string) (Serving, []string) {
	var problems []string
	flag := func(from map[string]string, key string) bool {
		text := from[key]
		if text == "" {
			return false
		}
		on, err := strconv.ParseBool(text)
		if err != nil {
			problems = append(problems, fmt.Sprintf("%s: %q is neither true nor false; using false", key, text))
		}
		return err == nil && on
	}
	s := Serving{
		URL:               strings.TrimRight(strings.TrimSpace(data[v1alpha1.KeyURL]), "/"),
		Insecure:          flag(params, v1alpha1.KeyParamServerInsecure),
		RootPath:          params[v1alpha1.KeyParamServerRootPath],
		BaseHref:          params[v1alpha1.KeyParamServerBaseHref],
		FrameOptions:      params[v1alpha1.KeyParamServerXFrameOptions],
		NoReplace:         params[v1alpha1.KeyParamSyncReplaceAllowed] != "" && !flag(params, v1alpha1.KeyParamSyncReplaceAllowed),
		HiddenAnnotations: words(data[v1alpha1.KeySensitiveMaskAnnotations]),
		StatusBadge:       flag(data, v1alpha1.KeyStatusBadgeEnabled),
		StatusBadgeURL:    data[v1alpha1.KeyStatusBadgeURL],
		Exec:              flag(data, v1alpha1.KeyExecEnabled),
		AdminDisabled:     data[v1alpha1.KeyAdminEnabled] == "false",
		PasswordPattern:   data[v1alpha1.KeyPasswordPattern],
		InstallationID:    data[v1alpha1.KeyInstallationID],
		ChatURL:           data[v1alpha1.KeyHelpChatURL],
		ChatText:          data[v1alpha1.KeyHelpChatText],
		AnalyticsID:       data[v1alpha1.KeyGATrackingID],
		AnalyticsNames:    flag(data, v1alpha1.KeyGAAnonymizeUsers),
		CSSURL:            data[v1alpha1.KeyUICSSURL],
		BannerContent:     data[v1alpha1.KeyUIBannerContent],
		BannerURL:         data[v1alpha1.KeyUIBannerURL],
		BannerPosition:    data[v1alpha1.KeyUIBannerPosition],
		BannerPermanent:   flag(data, v1alpha1.KeyUIBannerPermanent),
		LoginButton:       data[v1alpha1.KeyUILoginButtonText],
	}
	if text, set := params[v1alpha1.KeyParamServerContentTypes]; set {
		s.ContentTypes = contentTypes(text)
	}
	var tooLarge string
	if s.MaxWebhook, tooLarge = webhookSize(data); tooLarge != "" {
		problems = append(problems, tooLarge)
	}
	s.Downloads = downloads(data)
	read := func(key string, into any) {
		if err := yaml.Unmarshal([]byte(data[key]), into); err != nil {
			problems = append(problems, fmt.Sprintf("%s: it cannot be read: %v", key, err))
		}
	}
	read(v1alpha1.KeyAdditionalURLs, &s.AdditionalURLs)
	for key, into := range map[string]*[]Link{
		v1alpha1.KeyApplicationLinks: &s.ApplicationLinks, v1alpha1.KeyResourceLinks: &s.ResourceLinks,
		v1alpha1.KeyProjectLinks: &s.ProjectLinks,
	} {
		read(key, into)
		for _, l := range *into {
			if l.If != "" {
				problems = append(problems,
					fmt.Sprintf("%s: the link %q has a condition (if), which is not understood; it is left out", key, l.Title))
			}
		}
	}
	if params[v1alpha1.KeyParamServerDisableAuth] == "true" {
		problems = append(problems, v1alpha1.KeyParamServerDisableAuth+": everybody must sign in; give anonymous users a role instead")
	}
	return s, problems
}
