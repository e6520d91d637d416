package e2e_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/towline-cd/towline/api/v1alpha1"
)

// template is a pod that kwok makes ready, or completes for a Job.
func template(app, more string) string {
	return fmt.Sprintf(`{metadata: {labels: {app: %s}}, spec: {%scontainers: [{name: main, image: "example.com/main:1"}]}}`, app, more)
}

// coreKinds is one object of each core kind that has a health, and the health
// that the control plane's own controllers bring it to.
func coreKinds(namespace string) map[string]struct {
	manifest string
	want     v1alpha1.HealthStatusCode
} {
	workload := func(kind, name, more string) string {
		return fmt.Sprintf("apiVersion: apps/v1\nkind: %s\nmetadata: {name: %s}\nspec:\n  selector: {matchLabels: {app: %[2]s}}\n  template: %[3]s\n%s",
			kind, name, template(name, ""), more)
	}
	return map[string]struct {
		manifest string
		want     v1alpha1.HealthStatusCode
	}{
		"Deployment/dep":  {workload("Deployment", "dep", "  replicas: 1\n"), v1alpha1.HealthStatusHealthy},
		"ReplicaSet/rs":   {workload("ReplicaSet", "rs", "  replicas: 1\n"), v1alpha1.HealthStatusHealthy},
		"StatefulSet/sts": {workload("StatefulSet", "sts", "  replicas: 1\n  serviceName: sts\n"), v1alpha1.HealthStatusHealthy},
		"DaemonSet/ds":    {workload("DaemonSet", "ds", ""), v1alpha1.HealthStatusHealthy},
		"Deployment/held": {workload("Deployment", "held", "  replicas: 1\n  paused: true\n"), v1alpha1.HealthStatusSuspended},
		"Pod/pod": {
			"apiVersion: v1\nkind: Pod\nmetadata: {name: pod}\nspec: {containers: [{name: main, image: \"example.com/main:1\"}]}\n",
			v1alpha1.HealthStatusHealthy,
		},
		"ReplicationController/rc": {
			"apiVersion: v1\nkind: ReplicationController\nmetadata: {name: rc}\nspec:\n  replicas: 1\n  selector: {app: rc}\n  template: " +
				template("rc", "") + "\n", v1alpha1.HealthStatusHealthy,
		},
		"Job/job": {
			"apiVersion: batch/v1\nkind: Job\nmetadata: {name: job}\nspec:\n  template: " + template("job", "restartPolicy: Never, ") + "\n",
			v1alpha1.HealthStatusHealthy,
		},
		"CronJob/cron": {
			"apiVersion: batch/v1\nkind: CronJob\nmetadata: {name: cron}\nspec:\n  schedule: \"0 0 1 1 *\"\n  suspend: true\n  jobTemplate: {spec: {template: " +
				template("cron", "restartPolicy: Never, ") + "}}\n", v1alpha1.HealthStatusSuspended,
		},
		"HorizontalPodAutoscaler/hpa": {
			"apiVersion: autoscaling/v2\nkind: HorizontalPodAutoscaler\nmetadata: {name: hpa}\nspec:\n  maxReplicas: 2\n" +
				"  scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: nobody}\n" +
				"  metrics: [{type: Resource, resource: {name: cpu, target: {type: Utilization, averageUtilization: 50}}}]\n",
			v1alpha1.HealthStatusDegraded,
		},
		"PersistentVolumeClaim/hollow": {hollowClaim, v1alpha1.HealthStatusProgressing},
		"Service/inner":                {"apiVersion: v1\nkind: Service\nmetadata: {name: inner}\nspec: {ports: [{port: 80}]}\n", v1alpha1.HealthStatusHealthy},
		"Service/outer": {
			"apiVersion: v1\nkind: Service\nmetadata: {name: outer}\nspec: {type: LoadBalancer, ports: [{port: 80}]}\n",
			v1alpha1.HealthStatusProgressing,
		},
		"Ingress/way": {
			"apiVersion: networking.k8s.io/v1\nkind: Ingress\nmetadata: {name: way}\nspec: {defaultBackend: {service: {name: inner, port: {number: 80}}}}\n",
			v1alpha1.HealthStatusProgressing,
		},
		"PodDisruptionBudget/pdb": {
			"apiVersion: policy/v1\nkind: PodDisruptionBudget\nmetadata: {name: pdb}\nspec: {maxUnavailable: 1, selector: {matchLabels: {app: dep}}}\n",
			v1alpha1.HealthStatusHealthy,
		},
		"APIService/v1.kinds.e2e.example.com": {
			"apiVersion: apiregistration.k8s.io/v1\nkind: APIService\nmetadata: {name: v1.kinds.e2e.example.com}\nspec: {group: kinds.e2e.example.com, " +
				"version: v1, groupPriorityMinimum: 1, versionPriority: 1, insecureSkipTLSVerify: true, service: {name: inner, namespace: " + namespace + "}}\n",
			v1alpha1.HealthStatusProgressing,
		},
		"CustomResourceDefinition/rafts.kinds-e2e.example.com": {
			strings.NewReplacer("ferry.example.com", "kinds-e2e.example.com", "ferries", "rafts", "Ferry", "Raft", "ferry", "raft").Replace(ferries),
			v1alpha1.HealthStatusHealthy,
		},
		"Namespace/" + namespace + "-more": {
			"apiVersion: v1\nkind: Namespace\nmetadata: {name: " + namespace + "-more}\n", v1alpha1.HealthStatusHealthy,
		},
	}
}

// TestHealthOfCoreKinds: each core kind comes to the health that its own
// controller's status stands for.
func TestHealthOfCoreKinds(t *testing.T) {
	f := setup(t)
	files := map[string]string{}
	kinds := coreKinds(f.dest)
	for name, k := range kinds {
		files["shop/"+strings.ReplaceAll(name, "/", "-")+".yaml"] = k.manifest
	}
	f.must(f.git.Create("shop", files))
	f.start()
	f.application("kinds", "shop", "shop", automated)
	got := map[string]string{}
	f.await("kinds", "judged in each of its kinds", func(app *v1alpha1.Application) bool {
		all := true
		for name, k := range kinds {
			kind, object, _ := strings.Cut(name, "/")
			status, message := verdictOn(app, kind, object)
			got[name] = fmt.Sprintf("%s: %s", status, message)
			if status != k.want {
				all = false
				got[name] += fmt.Sprintf("; want %s", k.want)
			}
		}
		return all
	})
	for name, verdict := range got {
		t.Logf("%s %s", name, verdict)
	}
	f.kubectl("-n", f.control, "delete", "application", "kinds", "--timeout=80s")
}
