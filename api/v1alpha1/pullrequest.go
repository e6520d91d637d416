package v1alpha1

// PullRequestGenerator yields the open pull requests of a repository; exactly one provider is set.
type PullRequestGenerator struct {
	Github          *PullRequestGeneratorGithub          `json:"github,omitempty"`
	Gitlab          *PullRequestGeneratorGitlab          `json:"gitlab,omitempty"`
	Gitea           *PullRequestGeneratorGitea           `json:"gitea,omitempty"`
	BitbucketServer *PullRequestGeneratorBitbucketServer `json:"bitbucketServer,omitempty"`
	// Filters keep a pull request that any of them matches; inside one, everything must match.
	Filters             []PullRequestGeneratorFilter `json:"filters,omitempty"`
	RequeueAfterSeconds *int64                       `json:"requeueAfterSeconds,omitempty"`
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:validation:Type=object
	// +kubebuilder:pruning:PreserveUnknownFields
	Template    ApplicationSetTemplate           `json:"template,omitzero"`
	Bitbucket   *PullRequestGeneratorBitbucket   `json:"bitbucket,omitempty"`
	AzureDevOps *PullRequestGeneratorAzureDevOps `json:"azuredevops,omitempty"`
	Values      map[string]string                `json:"values,omitempty"`
	// ContinueOnRepoNotFoundError takes a repository that does not exist for one without pull requests.
	ContinueOnRepoNotFoundError bool `json:"continueOnRepoNotFoundError,omitempty"`
}

// PullRequestGeneratorFilter matches pull requests by regular expressions; everything that is set must match.
type PullRequestGeneratorFilter struct {
	BranchMatch       *string `json:"branchMatch,omitempty"`
	TargetBranchMatch *string `json:"targetBranchMatch,omitempty"`
	TitleMatch        *string `json:"titleMatch,omitempty"`
}

// PullRequestGeneratorGithub is a repository on GitHub.
type PullRequestGeneratorGithub struct {
	Owner    string     `json:"owner"`
	Repo     string     `json:"repo"`
	API      string     `json:"api,omitempty"`
	TokenRef *SecretRef `json:"tokenRef,omitempty"`
	// AppSecretName is the repository secret that has a GitHub App in it.
	AppSecretName string `json:"appSecretName,omitempty"`
	// Labels are those that a pull request must have.
	Labels []string `json:"labels,omitempty"`
}

// PullRequestGeneratorGitlab is a project on GitLab.
type PullRequestGeneratorGitlab struct {
	Project  string     `json:"project"`
	API      string     `json:"api,omitempty"`
	TokenRef *SecretRef `json:"tokenRef,omitempty"`
	// Labels are those that a merge request must have.
	Labels []string `json:"labels,omitempty"`
	// PullRequestState is opened, closed, merged or locked; empty means any.
	PullRequestState string           `json:"pullRequestState,omitempty"`
	Insecure         bool             `json:"insecure,omitempty"`
	CARef            *ConfigMapKeyRef `json:"caRef,omitempty"`
}

// PullRequestGeneratorGitea is a repository on Gitea.
type PullRequestGeneratorGitea struct {
	Owner    string     `json:"owner"`
	Repo     string     `json:"repo"`
	API      string     `json:"api"`
	TokenRef *SecretRef `json:"tokenRef,omitempty"`
	Insecure bool       `json:"insecure,omitempty"`
	// Labels are those that a pull request must have.
	Labels []string `json:"labels,omitempty"`
}

// PullRequestGeneratorBitbucketServer is a repository on Bitbucket Server.
type PullRequestGeneratorBitbucketServer struct {
	Project     string                    `json:"project"`
	Repo        string                    `json:"repo"`
	API         string                    `json:"api"`
	BasicAuth   *BasicAuthBitbucketServer `json:"basicAuth,omitempty"`
	BearerToken *BearerTokenBitbucket     `json:"bearerToken,omitempty"`
	Insecure    bool                      `json:"insecure,omitempty"`
	CARef       *ConfigMapKeyRef          `json:"caRef,omitempty"`
}

// PullRequestGeneratorBitbucket is a repository on Bitbucket Cloud.
type PullRequestGeneratorBitbucket struct {
	Owner       string                    `json:"owner"`
	Repo        string                    `json:"repo"`
	API         string                    `json:"api,omitempty"`
	BasicAuth   *BasicAuthBitbucketServer `json:"basicAuth,omitempty"`
	BearerToken *BearerTokenBitbucket     `json:"bearerToken,omitempty"`
}

// PullRequestGeneratorAzureDevOps is a repository on Azure DevOps.
type PullRequestGeneratorAzureDevOps struct {
	Organization string     `json:"organization"`
	Project      string     `json:"project"`
	Repo         string     `json:"repo"`
	API          string     `json:"api,omitempty"`
	TokenRef     *SecretRef `json:"tokenRef,omitempty"`
	// Labels are those that a pull request must have.
	Labels []string `json:"labels,omitempty"`
}
